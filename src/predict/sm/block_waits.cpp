#include "predict/sm/block_waits.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "predict/l2/memory_seconds.h"
#include "predict/traffic/sector_reads.h"

namespace tilescope {
namespace {

// Steps of an array that a block's lanes take side by side.
std::int64_t side_by_side(const BoundIsland& bound, const WaitLoads& loads) {
  if (loads.columns == 0) return loads.lanes;
  const std::int64_t threads = warps_of_block(bound) * lanes_of_warp(bound),
                     block_columns = std::max<std::int64_t>(1, bound.how.row_threads.columns) * threads,
                     columns = std::min(bound.point.workload.d_v, block_columns);
  return std::max<std::int64_t>(1, threads * loads.columns / columns);
}

// Times that a thread waits for loads of an array in all its steps.
double times_of(const BoundIsland& bound, const WaitLoads& loads, ArrayId id) {
  const std::int64_t steps = bound.streams(id) ? steps_of(bound.nest) : 1;
  // Threads with one step fewer may wait longer: what is left of a group is loaded one by one.
  const auto waits = [&](std::int64_t own) { return own / loads.group * loads.times + own % loads.group; };
  const std::int64_t at_once = side_by_side(bound, loads), most = ceil_div(steps, at_once);
  return static_cast<double>(steps % at_once == 0 ? waits(most) : std::max(waits(most), waits(most - 1)));
}

// Clocks in which the L2 serves one reading of an array of which all warps read lone sectors: few lines, each asked for
// by many warps, and a slice gives one sector after the other.
double clocks_of_fullest_slice(const LaunchAtSm& launch, ArrayId id, std::int64_t reads) {
  const BoundIsland& bound = launch.bound;
  const HardwareProfile& hardware = bound.hardware;
  const auto read = static_cast<double>(sector_read_bytes(bound, id));
  if (read == 0 || launch.rates.l2_few_lines <= 0 || !hardware.l2_slices || !hardware.line_bytes) return 0;
  const double all =
      static_cast<double>(touched_bytes(bound, id, {})) / static_cast<double>(hardware.line_bytes->value);
  const double at_once = std::min(1.0, static_cast<double>(resident_blocks(bound, launch.counts.occupancy)) /
                                           static_cast<double>(grid_blocks(bound)));
  const double lines = std::max(1.0, all), of_line = read / static_cast<double>(reads) / lines;
  // Measured of 32 lines: as many sectors of each are asked for, and the fullest slice has so many of them.
  constexpr double measured_lines = 32;
  const std::int64_t slices = hardware.l2_slices->value;
  const double of_a_line =
      measured_lines / (launch.rates.l2_few_lines * lines_of_fullest_slice(measured_lines, slices));  // clk/B
  return of_line * of_a_line * lines_of_fullest_slice(std::max(1.0, lines * at_once), slices);
}

// Steps of an array, or of the nest if it has fewer, of which a warp waits for all at once.
double steps_at_once(const BoundIsland& bound, const WaitLoads& loads) {
  const double of_block = static_cast<double>(side_by_side(bound, loads)),
               of_warp = loads.columns > 0 ? of_block / static_cast<double>(warps_of_block(bound)) : of_block,
               all = static_cast<double>(std::max<std::int64_t>(1, steps_of(bound.nest)));
  return std::clamp(of_warp * static_cast<double>(ceil_div(loads.group, loads.times)), 1.0, all);
}

// Clocks of a wait for an array that an earlier launch has written, each step by another unit, in the block that waits
// longest. A wait takes the latency of its farthest line. The launch ends with the block that has the most far lines:
// the expected maximum over all blocks (normal approximation).
double clocks_of_written(const LaunchAtSm& launch, const WaitLoads& loads, ArrayId id, double times) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const double all = static_cast<double>(std::max<std::int64_t>(1, steps_of(bound.nest))),
               step_bytes = static_cast<double>(touched_bytes(bound, id, {})) / all,
               far = any_far(bound.hardware, steps_at_once(bound, loads), step_bytes),
               blocks = static_cast<double>(std::max<std::int64_t>(1, grid_blocks(bound))),
               worst = far + std::sqrt(2 * std::log(blocks) * far * (1 - far) / std::max(1.0, times));
  return rates.l2_near + std::min(1.0, worst) * (rates.l2_far - rates.l2_near);
}

}  // namespace

BlockWaits block_waits(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  BlockWaits waits;
  const Waits& how = bound.how.waits;
  if (how.loads.empty()) return waits;
  const bool all_stays = stays_in_l2(bound.hardware, moved(launch.counts, Boundary::hbm));
  for (const WaitLoads& loads : how.loads) {
    const auto id = bound.plan.schedule.diagram.find_array(loads.array);
    if (!id) continue;
    const auto entry = bound.how.sector_reads.find(loads.array);
    const std::int64_t reads = entry == bound.how.sector_reads.end() ? 1 : entry->second;
    const double times = times_of(bound, loads, *id), later = static_cast<double>(reads - 1);
    // The block's warps wait for lines of both partitions: for the far one's, or for a slice that all ask.
    const double busy = clocks_of_fullest_slice(launch, *id, reads),
                 hit = from_earlier_launch(bound, *id) ? clocks_of_written(launch, loads, *id, times)
                                                       : launch.rates.l2_far;
    const double hits = std::max(busy, times * hit), fresh = std::max(busy, times * launch.rates.far_memory());
    // A slice serves blocks one after the other: later loads of early blocks overlap its service of late blocks.
    if (&loads != &how.loads.back() && busy > times * hit) waits.in_turn = busy;
    waits.cold += fresh + later * hits;
    waits.warm += (all_stays && from_earlier_launch(bound, *id) ? hits : fresh) + later * hits;
  }
  return waits;
}

}  // namespace tilescope
