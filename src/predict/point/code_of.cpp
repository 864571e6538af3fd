#include "predict/point/code_of.h"

namespace tilescope {

const InstanceCode* code_of(const BoundIsland& bound) {
  if (bound.how.uses_tensor_cores()) {
    if (!bound.variant || bound.variant->code.warps == 0) return nullptr;
    return &bound.variant->code;
  }
  const std::int64_t steps = steps_of(bound.nest);
  for (const LaunchCode& each : bound.plan.kernel.launch_codes)
    if (each.launch == bound.island.name && each.columns == bound.point.workload.d_v && steps >= each.least_steps &&
        (each.most_steps == 0 || steps <= each.most_steps))
      return &each.code;
  return nullptr;
}

double shuffles_of_row(const BoundIsland& bound) {
  const InstanceCode* code = code_of(bound);
  if (!code) return bound.how.work[static_cast<std::size_t>(Pipe::shuffle)].per_row_step;
  const auto& guard = bound.plan.schedule.diagram.guard;
  const BoundLoop* query = guard ? bound.nest.loop_over(guard->query) : nullptr;
  if (!query) return 0;
  const std::int64_t of_block = code->of(CodePass::step, CodeCount::shuffle) * code->warps * lanes_of_warp(bound);
  return static_cast<double>(of_block) / static_cast<double>(query->tile * row_lanes(bound));
}

}  // namespace tilescope
