#include "predict/time/placed_blocks.h"

#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/point/order/block_order.h"
#include "predict/point/order/first_blocks.h"

namespace tilescope {
namespace {

Placement placed_one_by_one(const LaunchAtSm& launch, const BlockClocks& clocks) {
  auto& known = launch.placed.placements;
  const auto same = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.first == clocks; });
  if (same != known.end()) return same->second;
  const BoundIsland& bound = launch.bound;
  const std::vector<std::int64_t>& steps = steps_of_blocks(launch);
  const std::int64_t units = bound.hardware.units.value;
  std::vector<std::int32_t> first;
  if (at_work(bound, Mechanism::first_places))
    first = units_of_first_blocks(bound.hardware, std::ssize(steps), launch.resident());
  return known.emplace_back(clocks, place_blocks(steps, units, launch.resident(), clocks, first)).second;
}

}  // namespace

const std::vector<std::int64_t>& steps_of_blocks(const LaunchAtSm& launch) {
  if (launch.placed.steps.empty()) launch.placed.steps = steps_in_issue_order(launch.bound);
  return launch.placed.steps;
}

// What comes before the first step of a launch counts on the SMs that hold a block; no less than a block's own steps.
Placement placed_blocks(const LaunchAtSm& launch, const SmStep& step) {
  const BoundIsland& bound = launch.bound;
  const std::int64_t blocks = grid_blocks(bound), units = bound.hardware.units.value;
  const double mean = step.steps / static_cast<double>(std::max<std::int64_t>(1, blocks));
  const bool one_by_one = bound.point.l2 == L2Model::walk && bound.nest.guarded() && blocks <= (1 << 20);
  Placement placed = one_by_one ? placed_one_by_one(launch, step.clocks)
                                : place_equal_blocks(blocks, mean, units, launch.resident(), step.clocks);
  const double held = placed.clocks > 0 ? placed.busy / placed.clocks : 0;
  placed.clocks = std::max(placed.clocks + step.once, step.clocks.step[0] * mean);
  // Blocks that only wait and move bytes begin together: until their first loads have come, only the block scheduler is
  // busy.
  if (waits_for_loads(bound)) {
    const double each = std::max(mean * std::max(step.demand.memory, step.demand.issue), launch.rates.block_beside),
                 all = static_cast<double>(ceil_div(blocks, units)) * each;
    placed.clocks = std::max(placed.clocks, all + mean * step.waits - std::min(all, step.in_turn));
  }
  placed.busy = held * placed.clocks;
  return placed;
}

}  // namespace tilescope
