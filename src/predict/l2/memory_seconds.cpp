#include "predict/l2/memory_seconds.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/checked.h"
#include "predict/grid/block_order.h"
#include "predict/point/mechanisms.h"
#include "predict/point/products.h"
#include "predict/traffic/sectors.h"

namespace tilescope {
namespace {

double bandwidth(const MemoryLevel* level) {
  if (!level) return unknown_seconds;
  if (level->measured_bandwidth_bytes_per_second) return level->measured_bandwidth_bytes_per_second->value;
  if (level->bandwidth_bytes_per_second) return level->bandwidth_bytes_per_second->value;
  return unknown_seconds;
}

// L2: bytes per second, or bytes per clock of the whole device at the boost clock.
double l2_bandwidth(const HardwareProfile& hardware) {
  const MemoryLevel* l2 = hardware.level(LevelId::l2);
  const double stated = bandwidth(l2);
  if (stated > 0 || !l2 || !l2->bandwidth_bytes_per_cycle || !hardware.boost_hz) return stated;
  return l2->bandwidth_bytes_per_cycle->value * hardware.boost_hz->value;
}

// s in which the L2 serves so many bytes that units read. What units of one group ask for together leaves the L2 once:
// streamed tiles, of which several units read the same at about the same time. None gets more than all of them reading
// the same bytes.
double l2_read_seconds(const BoundIsland& bound, const LaunchCounts& counts, double bytes) {
  const auto& l2 = bound.hardware.measured->l2;
  const double each = bytes / l2.read_private->value;
  if (!l2.read_shared || !bound.hardware.l2_groups || !at_work(bound, Mechanism::shared_reads)) return each;
  const std::int64_t at_work = std::min(bound.nest.blocks(), resident_blocks(bound, counts.occupancy));
  double all = 0, leave = 0;
  for (const Term& term : counts.terms) {
    if (term.boundary != Boundary::l2 || term.direction != Direction::read) continue;
    const auto id = static_cast<ArrayId>(term.array);
    const double same =
        term.array >= 0 && bound.streams(id) ? static_cast<double>(at_work) / tiles_at_work(bound, id, at_work) : 1;
    all += static_cast<double>(term.bytes);
    leave += static_cast<double>(term.bytes) / asked_together(same, bound.hardware.l2_groups->value.size());
  }
  return all > 0 ? std::max(each * leave / all, bytes / l2.read_shared->value) : each;
}

// The same side by side in L2's ports; 0: not measured.
double measured_l2(const BoundIsland& bound, const LaunchCounts& counts) {
  const HardwareProfile& hardware = bound.hardware;
  if (!hardware.measured || !hardware.measured->l2.read_private || !hardware.measured->l2.write) return 0;
  const auto& bytes = counts.traffic.bytes[Boundary::l2];
  return std::max(l2_read_seconds(bound, counts, static_cast<double>(bytes[0])),
                  static_cast<double>(bytes[1]) / hardware.measured->l2.write->value);
}

}  // namespace

double seconds_at(double amount, double rate) { return amount == 0 ? 0 : rate > 0 ? amount / rate : unknown_seconds; }

double asked_together(double units, std::size_t groups) {
  const auto count = static_cast<double>(groups);
  return units <= 1 || groups == 0 ? 1 : units / (count * (1 - std::pow(1 - 1 / count, units)));
}

double tiles_at_work(const BoundIsland& bound, ArrayId id, std::int64_t blocks) {
  const Axes axes = bound.plan.schedule.diagram.array(id).axes;
  std::array<bool, max_loops> own{};
  std::int64_t tiles = 1;
  for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
    if (bound.nest.loops[i].group && bound.nest.carries(axes, bound.nest.loops[i].axis))
      own[i] = true, tiles *= bound.nest.loops[i].trips;
  if (tiles == 1) return 1;
  if (bound.point.l2 != L2Model::walk) {  // as if blocks of one tile followed one another
    const std::int64_t sharers = std::max<std::int64_t>(1, bound.nest.blocks() / tiles);
    return static_cast<double>(std::max<std::int64_t>(1, blocks / sharers));
  }
  const BlockOrder order(bound);
  std::set<BlockPlace> seen;
  for (std::int64_t i = 0; i < std::min(blocks, order.size()); ++i) {
    BlockPlace place = order.at(i);
    for (std::size_t loop = 0; loop < place.size(); ++loop)
      if (!own[loop]) place[loop] = 0;
    seen.insert(place);
  }
  return static_cast<double>(std::max<std::size_t>(1, seen.size()));
}

double hbm_seconds(const HardwareProfile& hardware, double read, double written) {
  if (hardware.measured && hardware.measured->hbm.read && hardware.measured->hbm.write)
    return read / hardware.measured->hbm.read->value + written / hardware.measured->hbm.write->value;
  const double rate = bandwidth(hardware.level(LevelId::hbm));
  return rate > 0 ? (read + written) / rate : unknown_seconds;
}

double last_level_seconds(const HardwareProfile& hardware, double bytes) {
  return seconds_at(bytes, bandwidth(hardware.level(LevelId::llc)));
}

double l2_seconds(const BoundIsland& bound, const LaunchCounts& counts) {
  const double measured = measured_l2(bound, counts);
  return measured > 0 ? measured : seconds_at(moved(counts, Boundary::l2), l2_bandwidth(bound.hardware));
}

bool stays_in_l2(const HardwareProfile& hardware, double bytes) {
  const auto& measured = hardware.measured;
  return measured && measured->l2.capacity_private && bytes <= measured->l2.capacity_private->value;
}

}  // namespace tilescope
