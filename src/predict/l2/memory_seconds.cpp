#include "predict/l2/memory_seconds.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/checked.h"
#include "predict/l2/read_together.h"
#include "predict/point/mechanisms.h"
#include "predict/point/order/block_order.h"
#include "predict/point/products.h"
#include "predict/traffic/sectors.h"

namespace tilescope {
namespace {

// For a lower bound of the time: the highest rate that is known of the level. A measurement by another program tells
// what that program reached, so the datasheet's peak counts where it is higher; bytes per clock at the boost clock.
double bandwidth(const HardwareProfile& hardware, LevelId id) {
  const MemoryLevel* level = hardware.level(id);
  double rate = 0;
  if (!level) return unknown_seconds;
  for (const auto& known : {level->measured_bandwidth_bytes_per_second, level->bandwidth_bytes_per_second})
    if (known) rate = std::max(rate, known->value);
  if (level->bandwidth_bytes_per_cycle && hardware.boost_hz)
    rate = std::max(rate, level->bandwidth_bytes_per_cycle->value * hardware.boost_hz->value *
                              (properties(id).per_unit ? static_cast<double>(hardware.units.value) : 1));
  return rate > 0 ? rate : unknown_seconds;
}

// Of the reads of a streamed array, the part that leaves the L2. Blocks whose rows begin or end at different tiles are
// at different ones.
double leaving(const BoundIsland& bound, ArrayId id, std::int64_t at_work) {
  const std::size_t groups = bound.hardware.l2_groups->value.size();
  if (bound.point.l2 == L2Model::walk && bound.nest.guarded())
    if (const std::optional<double> part = part_that_leaves(bound, id, at_work, groups)) return *part;
  return 1 / asked_together(static_cast<double>(at_work) / tiles_at_work(bound, id, at_work), groups);
}

// A bit for each loop of the nest that moves a streamed array; 0: it is not streamed.
std::uint32_t loops_of(const BoundIsland& bound, int array) {
  if (array < 0 || !bound.streams(static_cast<ArrayId>(array))) return 0;
  const AxisBits axes = bits(bound.plan.schedule.diagram.array(static_cast<ArrayId>(array)).axes);
  std::uint32_t loops = 0;
  for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
    if (Nest::carries(axes, bound.nest.loops[i])) loops |= 1U << i;
  return loops;
}

// s in which the L2 serves so many bytes that units read. What units of one group ask for together leaves the L2 once:
// streamed tiles, of which several units read the same at about the same time. None gets more than all of them reading
// the same bytes.
double l2_read_seconds(const BoundIsland& bound, const LaunchCounts& counts, double bytes) {
  const auto& l2 = bound.hardware.measured->l2;
  const double each = bytes / l2.read_private->value;
  if (!l2.read_shared || !bound.hardware.l2_groups || !at_work(bound, Mechanism::shared_reads)) return each;
  const std::int64_t at_work = std::min(bound.nest.blocks(), resident_blocks(bound, counts.occupancy));
  double all = 0, leave = 0, part = 1;
  std::uint32_t loops = 0;  // of the array before: arrays that move alike are read alike
  for (const Term& term : counts.terms) {
    if (term.boundary != Boundary::l2 || term.direction != Direction::read) continue;
    if (const std::uint32_t own = loops_of(bound, term.array); own != loops)
      loops = own, part = own == 0 ? 1 : leaving(bound, static_cast<ArrayId>(term.array), at_work);
    all += static_cast<double>(term.bytes), leave += static_cast<double>(term.bytes) * part;
  }
  return all > 0 ? std::max(each * leave / all, bytes / l2.read_shared->value) : each;
}

// s of what is read and of what is stored, one beside the other: as many bytes each way come at the rate that was
// measured so, the rest at its own; where nobody measured that, neither holds up the other. 0: not measured.
double measured_l2(const BoundIsland& bound, const LaunchCounts& counts) {
  const HardwareProfile& hardware = bound.hardware;
  if (!hardware.measured || !hardware.measured->l2.read_private || !hardware.measured->l2.write) return 0;
  const auto& l2 = hardware.measured->l2;
  const auto read = static_cast<double>(counts.traffic.read(Boundary::l2)),
             stored = static_cast<double>(counts.traffic.written(Boundary::l2)), both = std::min(read, stored);
  const double reads = l2_read_seconds(bound, counts, read), stores = stored / l2.write->value,
               slower = std::max(reads, stores);
  if (!l2.write_and_read || both <= 0) return slower;
  return std::max(slower, both / l2.write_and_read->value + reads * (1 - both / read) + stores * (1 - both / stored));
}

}  // namespace

double seconds_at(double amount, double rate) { return amount == 0 ? 0 : rate > 0 ? amount / rate : unknown_seconds; }

double asked_together(double units, std::size_t groups) {
  const auto count = static_cast<double>(groups);
  return units <= 1 || groups == 0 ? 1 : units / (count * (1 - std::pow(1 - 1 / count, units)));
}

double tiles_at_work(const BoundIsland& bound, ArrayId id, std::int64_t blocks) {
  const AxisBits axes = bits(bound.plan.schedule.diagram.array(id).axes);
  std::array<bool, max_loops> own{};
  std::int64_t tiles = 1;
  for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
    if (bound.nest.loops[i].group && Nest::carries(axes, bound.nest.loops[i]))
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
  const double rate = bandwidth(hardware, LevelId::hbm);
  return rate > 0 ? (read + written) / rate : unknown_seconds;
}

double last_level_seconds(const HardwareProfile& hardware, double bytes) {
  return seconds_at(bytes, bandwidth(hardware, LevelId::llc));
}

double l2_seconds(const BoundIsland& bound, const LaunchCounts& counts) {
  const double measured = measured_l2(bound, counts);
  return measured > 0 ? measured : seconds_at(moved(counts, Boundary::l2), bandwidth(bound.hardware, LevelId::l2));
}

HighestRate highest_rate(const HardwareProfile& hardware, LevelId level) {
  const auto& measured = hardware.measured;
  if (level == LevelId::hbm && measured && measured->hbm.read && measured->hbm.write)
    return {std::max(measured->hbm.read->value, measured->hbm.write->value), true};
  if (level == LevelId::l2 && measured && measured->l2.read_private && measured->l2.write) {
    const auto& l2 = measured->l2;
    const double read = std::max(l2.read_private->value, l2.read_shared ? l2.read_shared->value : 0),
                 write = l2.write->value;
    return {l2.write_and_read ? std::max({read, write, 2 * l2.write_and_read->value}) : read + write, true};
  }
  return {std::max(0.0, bandwidth(hardware, level)), false};
}

bool stays_in_l2(const HardwareProfile& hardware, double bytes) {
  const auto& measured = hardware.measured;
  return measured && measured->l2.capacity_private && bytes <= measured->l2.capacity_private->value;
}

double gone_from_l2(const HardwareProfile& hardware, double bytes) {
  if (!hardware.measured || hardware.measured->l2.again.size() < 2) return stays_in_l2(hardware, bytes) ? 0 : 1;
  const auto& again = hardware.measured->l2.again;
  auto above = std::next(again.begin());
  while (std::next(above) != again.end() && above->second.value < bytes) ++above;
  const auto below = std::prev(above);
  const double percent = static_cast<double>(below->first) + static_cast<double>(above->first - below->first) *
                                                                 (bytes - below->second.value) /
                                                                 (above->second.value - below->second.value);
  return std::clamp(percent / 100, 0.0, 1.0);
}

namespace {

double sides(const HardwareProfile& hardware) {
  return hardware.l2_partitions ? static_cast<double>(hardware.l2_partitions->value) : 1;
}

bool writes(Launches launches, int array) {
  return array >= 0 && std::any_of(launches.begin(), launches.end(), [array](const LaunchCounts& launch) {
           return std::any_of(launch.terms.begin(), launch.terms.end(), [array](const Term& term) {
             return term.array == array && term.boundary == Boundary::hbm && term.direction == Direction::write;
           });
         });
}

}  // namespace

double bytes_between_runs(const HardwareProfile& hardware, Launches launches) {
  const double elsewhere = 1 - 1 / sides(hardware);
  double bytes = 0;
  for (std::size_t i = 0; i < launches.size(); ++i)
    for (const Term& term : launches[i].terms) {
      if (term.boundary != Boundary::hbm) continue;
      const bool is_there = term.direction == Direction::read && writes(launches.first(i), term.array);
      bytes += static_cast<double>(term.bytes) * (is_there ? elsewhere * elsewhere : 1);
    }
  return bytes;
}

double any_far(const HardwareProfile& hardware, double pieces, double piece_bytes) {
  constexpr double run_bytes = 4096;
  const double side = 1 / sides(hardware), homes = std::clamp(pieces * piece_bytes / run_bytes, 1.0, pieces);
  return 1 - std::pow(side + (1 - side) * std::pow(side, pieces / homes), homes);
}

double lines_of_fullest_slice(double lines, std::int64_t slices) {
  const double mean = lines / static_cast<double>(slices);
  if (mean > 64) return mean + std::sqrt(2 * mean * std::log(static_cast<double>(slices)));  // of normal distributions
  double at_most = 0, exactly = std::exp(-mean), fullest = 0;  // of one slice: Poisson's distribution
  for (int k = 0; k < 4096; ++k) {
    at_most += exactly, exactly *= mean / (k + 1);
    const double beyond = 1 - std::pow(std::min(1.0, at_most), static_cast<double>(slices));
    fullest += beyond;
    if (k > mean && beyond < 1e-9) break;
  }
  return std::max({fullest, mean, std::min(1.0, lines)});
}

}  // namespace tilescope
