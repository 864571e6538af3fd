#include "predict/sm/block_waits.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/checked.h"
#include "predict/l2/memory_seconds.h"
#include "predict/point/code_of.h"
#include "predict/traffic/sector_reads.h"
#include "predict/work/code_work.h"

namespace tilescope {
namespace {

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

// Clocks of a wait for an array that an earlier launch has written, `at_once` of whose steps a warp waits for together,
// each written by another unit, in the block that waits longest. A wait takes the latency of its farthest line. The
// launch ends with the block that has the most far lines: the expected maximum over all blocks (normal approximation).
double clocks_of_written(const LaunchAtSm& launch, ArrayId id, double times, double at_once) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const double all = static_cast<double>(std::max<std::int64_t>(1, steps_of(bound.nest))),
               step_bytes = static_cast<double>(touched_bytes(bound, id, {})) / all,
               far = any_far(bound.hardware, std::clamp(at_once, 1.0, all), step_bytes),
               blocks = static_cast<double>(std::max<std::int64_t>(1, grid_blocks(bound))),
               worst = far + std::sqrt(2 * std::log(blocks) * far * (1 - far) / std::max(1.0, times));
  return rates.l2_near + std::min(1.0, worst) * (rates.l2_far - rates.l2_near);
}

// What a block's warp waits for the lines of an array in one reading.
struct Reading {
  double fresh = 0, hits = 0;  // from memory; from the L2
  double busy = 0;             // of these, clocks in which a slice of the L2 serves all blocks in turn
};

Reading reading_of(const LaunchAtSm& launch, ArrayId id, double times, double at_once) {
  const BoundIsland& bound = launch.bound;
  const auto entry = bound.how.sector_reads.find(bound.plan.schedule.diagram.array(id).name);
  const std::int64_t reads = entry == bound.how.sector_reads.end() ? 1 : entry->second;
  // The block's warps wait for lines of both partitions: for the far one's, or for a slice that all ask.
  const double slice = clocks_of_fullest_slice(launch, id, reads),
               hit = times * (from_earlier_launch(bound, id) ? clocks_of_written(launch, id, times, at_once)
                                                             : launch.rates.l2_far);
  return {.fresh = std::max(slice, times * launch.rates.far_memory()),
          .hits = std::max(slice, hit),
          .busy = slice > hit ? slice : 0};
}

}  // namespace

BlockWaits block_waits(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  BlockWaits waits;
  if (!waits_for_loads(bound)) return waits;
  const InstanceCode& code = *code_of(bound);
  const WarpCounts warp = counts_of_warp(bound, code);
  const Diagram& diagram = bound.plan.schedule.diagram;
  const bool all_stays = stays_in_l2(bound.hardware, moved(launch.counts, Boundary::hbm));
  const auto of = [](const PassCounts& counts, CodeCount count) {
    return static_cast<double>(counts[static_cast<std::size_t>(count)]);
  };
  const auto work = [&](const PassCounts& counts) {
    waits.own += of(counts, CodeCount::clocks) + of(counts, CodeCount::special_waits) * launch.rates.ex2_chain +
                 of(counts, CodeCount::shared_waits) * launch.rates.smem_chain;
    waits.shuffles += of(counts, CodeCount::shuffle), waits.barriers += of(counts, CodeCount::barriers);
  };
  const auto wait = [&](ArrayId id, const Reading& reading, bool again) {
    const bool written = all_stays && from_earlier_launch(bound, id);
    waits.cold += again ? reading.hits : reading.fresh;
    waits.warm += again || written ? reading.hits : reading.fresh;
  };
  work(warp.outside);
  // Outside of loops a warp asks for all arrays before it waits.
  if (const double times = of(warp.outside, CodeCount::load_waits); times > 0) {
    ArrayId last{};
    Reading longest;
    for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
      const auto id = static_cast<ArrayId>(static_cast<int>(i));
      if (!loads(bound, id)) continue;
      const Reading reading = reading_of(launch, id, times, static_cast<double>(steps_of(bound.nest)));
      if (reading.hits > longest.hits) longest = reading, last = id;
    }
    wait(last, longest, false);
  }
  std::string_view before;
  for (std::size_t i = 0; i < code.loops.size(); ++i) {
    const StepsLoop& loop = code.loops[i];
    work(warp.loops[i]);
    const auto id = diagram.find_array(loop.array);
    if (!id) continue;
    const double of_group = of(loop.of_group, CodeCount::load_waits),
                 at_once = static_cast<double>(loop.beside) * std::ceil(static_cast<double>(loop.group) / of_group);
    const Reading reading = reading_of(launch, *id, of(warp.loops[i], CodeCount::load_waits), at_once);
    wait(*id, reading, loop.array == before);
    // A slice serves blocks one after the other: later loads of early blocks overlap its service of late blocks.
    if (i + 1 < code.loops.size()) waits.in_turn = reading.busy;
    before = loop.array;
  }
  return waits;
}

}  // namespace tilescope
