#include "predict/time/placed_blocks.h"

#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "predict/grid/block_order.h"
#include "predict/grid/first_blocks.h"
#include "predict/point/mechanisms.h"

namespace tilescope {
namespace {

Placement placed_one_by_one(const BoundIsland& bound, std::int64_t resident, const BlockClocks& clocks) {
  const std::vector<std::int64_t> steps = steps_in_issue_order(bound);
  const std::int64_t units = bound.hardware.units.value;
  if (!at_work(bound, Mechanism::first_places)) return place_blocks(steps, units, resident, clocks);
  return place_blocks(steps, units, resident, clocks,
                      units_of_first_blocks(bound.hardware, std::ssize(steps), resident));
}

}  // namespace

// What comes before the first step of a launch counts on the SMs that hold a block; no less than a block's own steps.
Placement placed_blocks(const LaunchAtSm& launch, const SmClocks& at_sm) {
  const auto& [steps, how] = at_sm;
  const BoundIsland& bound = launch.bound;
  const std::int64_t blocks = grid_blocks(bound), units = bound.hardware.units.value,
                     resident = std::clamp<std::int64_t>(launch.counts.occupancy.blocks_per_unit, 1, most_resident);
  const double mean = steps / static_cast<double>(std::max<std::int64_t>(1, blocks));
  const bool one_by_one = bound.point.l2 == L2Model::walk && bound.nest.guarded() && blocks <= (1 << 20);
  Placement placed = one_by_one ? placed_one_by_one(bound, resident, how.clocks)
                                : place_equal_blocks(blocks, mean, units, resident, how.clocks);
  const double held = placed.clocks > 0 ? placed.busy / placed.clocks : 0;
  placed.clocks = std::max(placed.clocks + how.once, how.clocks.step[0] * mean);
  // Blocks that only wait and move bytes begin together: until their first loads have come, only the block scheduler is
  // busy.
  if (!bound.how.waits.loads.empty()) {
    const double each =
        std::max(mean * std::max(how.demand.memory, how.demand.issue), sm_rates(bound.hardware).block_beside);
    placed.clocks = std::max(placed.clocks, static_cast<double>(ceil_div(blocks, units)) * each + mean * how.latency);
  }
  placed.busy = held * placed.clocks;
  return placed;
}

}  // namespace tilescope
