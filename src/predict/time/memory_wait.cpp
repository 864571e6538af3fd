#include "predict/time/memory_wait.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/parallel.h"
#include "predict/grid/streamed_blocks.h"
#include "predict/point/products.h"
#include "predict/time/placed_blocks.h"

namespace tilescope {
namespace {

// Pieces of a tile come apart: lines lie in many channels of memory. Against the recorded runs without
// attention (stream_blocks_test.cpp) the mean error is 2.9 % for 2 KiB, 3.1 for 4, 4.4 for 8, 5.6 for 16.
constexpr double piece_bytes = 4096;
constexpr std::int64_t most_pieces = 16, most_drawn = 60000, most_steps = 200000;

// Blocks that come and go, whose threads or copy engine bring a tile a step.
bool streams_tiles(const BoundIsland& bound) {
  const auto& how = bound.how;
  if (!how.uses_tensor_cores() || how.persistent) return false;
  if (!how.load().asynchronous) return false;
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (loads(bound, id) && bound.streams(id)) return true;
  }
  return false;
}

}  // namespace

MemoryWait memory_wait(const LaunchAtSm& launch, double ramp_seconds, double highest_hz, double gone) {
  const BoundIsland& bound = launch.bound;
  const double floor = launch.memory.slowest();
  const std::int64_t stages = stages_of_streams(bound);
  if (ramp_seconds <= 0 || floor <= 0 || stages < 2 || grid_blocks(bound) > most_steps) return {};
  if (!streams_tiles(bound)) return {};
  const std::vector<std::int64_t>& steps = steps_of_blocks(launch);
  std::int64_t all = 0;
  for (const std::int64_t each : steps) all = checked_add(all, each);
  if (all == 0 || all > most_steps) return {};
  const SmRates& rates = launch.rates;
  const double count = static_cast<double>(all),
               bytes = static_cast<double>(launch.counts.traffic.read(Boundary::l2)) / count;
  const auto at = [&](double hz, Inputs inputs, double seconds, double latency) {
    const SmStep step = sm_step(launch, count, inputs);
    const bool tma = bound.how.load().bulk;
    StreamedBlocks blocks;
    blocks.steps = steps, blocks.units = bound.hardware.units.value;
    blocks.resident = launch.resident();
    blocks.ahead = tma ? stages : stages - 1, blocks.asks_at_end = tma;
    blocks.pieces = std::clamp<std::int64_t>(std::llround(bytes / piece_bytes), 1,
                                             std::clamp<std::int64_t>(most_drawn / all, 1, most_pieces));
    // Latencies were measured at the highest clock; of memory and the L2 they do not change with it.
    blocks.service = seconds / count, blocks.latency = latency / highest_hz;
    blocks.start = rates.block_start / highest_hz, blocks.lead = blocks.start + step.lead / hz;
    for (std::size_t i = 0; i < blocks.step.size(); ++i) blocks.step[i] = step.work[i] / hz;
    blocks.trail = step.work[0] > 0 ? step.trail / step.work[0] : 0;
    return stream_blocks(blocks);
  };
  const bool stays = gone < 1 && rates.copy_l2 > 0;
  const auto warm = [&](double hz) {
    return stays ? at(hz, Inputs::in_l2, launch.memory.run_after_run(gone),
                      rates.copy_l2 + gone * (rates.copy_hbm - rates.copy_l2))
                 : at(hz, Inputs::in_memory, floor, rates.copy_hbm);
  };
  // Between a high and a low clock, s and clocks: what memory takes and what the units take.
  constexpr double lower = 0.75;
  Streamed cold, slower, faster;
  at_once(stays ? 3 : 2, [&](std::size_t i) {
    if (i == 0) cold = at(highest_hz, Inputs::in_memory, floor, rates.copy_hbm);
    else if (i == 1) slower = warm(lower * highest_hz);
    else faster = warm(highest_hz);
  });
  const double high = stays ? faster.seconds : cold.seconds, low = slower.seconds,
               clocks = std::max(0.0, low - high) * highest_hz / (1 / lower - 1);
  return {.cold = cold.seconds, .warm = high - clocks / highest_hz, .clocks = clocks, .busy = cold.busy};
}

}  // namespace tilescope
