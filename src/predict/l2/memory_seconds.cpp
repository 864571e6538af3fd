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
  // What a unit stores and loads again is next to nothing side by side: a rate of its own.
  const auto& both = hardware.measured->l2.write_and_read;
  const double spilled = both && at_work(bound, Mechanism::spills_both_ways)
                             ? static_cast<double>(std::min(counts.local.stored, counts.local.missed))
                             : 0;
  return (both ? spilled / both->value : 0) +
         std::max(l2_read_seconds(bound, counts, static_cast<double>(bytes[0]) - spilled),
                  (static_cast<double>(bytes[1]) - spilled) / hardware.measured->l2.write->value);
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

// Memory reads a line's parts for two instructions, tiles or stages: the same bytes take longer. Measured of tiles that
// are one piece, in runs: one run for each index of the axes of which a block takes one value at a time.
double off_line_seconds(const BoundIsland& bound, const LaunchCounts& counts) {
  const auto& measured = bound.hardware.measured;
  if (!at_work(bound, Mechanism::off_line)) return 0;
  if (!measured || !measured->hbm.read || !measured->hbm.read_off_line || !bound.hardware.line_bytes) return 0;
  const Diagram& diagram = bound.plan.schedule.diagram;
  double bytes = 0;
  for (const Term& term : counts.terms) {
    if (term.boundary != Boundary::hbm || term.direction != Direction::read || term.array < 0) continue;
    const auto id = static_cast<ArrayId>(term.array);
    if (!bound.streams(id) || copied_in_bulk(bound, id) || !in_shared_memory(bound, id)) continue;
    std::int64_t runs = 1, run = 1, tile = 0;
    bool one_piece = true;
    for (const AxisId axis : diagram.array(id).axes) {
      const BoundLoop* const loop = bound.nest.loop_over(axis);
      const std::int64_t size = bound.nest.size(axis);
      if (tile == 0 && loop && loop->tile == 1) {
        runs = checked_mul(runs, size);
        continue;
      }
      if (tile > 0 && loop && loop->tile < size) one_piece = false;
      tile = tile == 0 ? (loop ? loop->tile : size) : checked_mul(tile, size), run = checked_mul(run, size);
    }
    if (tile == 0 || !one_piece) continue;
    // Scales lie in an array of their own.
    const std::int64_t bits_of_value = bits(bound.point.dtypes[index(id)].format);
    const auto in_bytes = [&](std::int64_t values) {
      return std::max<std::int64_t>(1, checked_mul(values, bits_of_value) / 8);
    };
    bytes += static_cast<double>(term.bytes) *
             off_line_part(runs, in_bytes(run), in_bytes(tile), bound.hardware.line_bytes->value);
  }
  return bytes * std::max(0.0, 1 / measured->hbm.read_off_line->value - 1 / measured->hbm.read->value);
}

bool stays_in_l2(const HardwareProfile& hardware, double bytes) {
  const auto& measured = hardware.measured;
  return measured && measured->l2.capacity_private && bytes <= measured->l2.capacity_private->value;
}

}  // namespace tilescope
