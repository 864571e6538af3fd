#include "predict/point/code_of.h"

#include "base/contains.h"

namespace tilescope {

namespace {

bool runs_here(const BoundIsland& bound, const LaunchCode& each, std::int64_t steps) {
  if (each.launch != bound.island.name || steps < each.least_steps) return false;
  if (each.most_steps != 0 && steps > each.most_steps) return false;
  if (each.columns != 0 && each.columns != bound.point.workload.d_v) return false;
  if (!each.dtypes.empty() && !contains(each.dtypes, bound.point.dtypes[0])) return false;
  if (each.masked && *each.masked != (bound.point.mask.kind != MaskKind::none)) return false;
  if (each.head_dim == 0) return true;
  const KernelVariant* variant = bound.variant;
  return variant && each.head_dim == variant->head_dim && (each.tile_q == 0 || each.tile_q == variant->tile_q) &&
         (each.tile_kv == 0 || each.tile_kv == variant->tile_kv) && (each.warps == 0 || each.warps == variant->warps) &&
         (each.stages == 0 || variant->stages == 0 || each.stages == variant->stages);
}

std::int64_t size_of_axis(const BoundIsland& bound, const std::string& name) {
  const auto axis = bound.plan.schedule.diagram.find_axis(name);
  return axis ? bound.nest.size(*axis) : 0;
}

// Of instances for sizes of an axis, the one of the smallest size that holds it, else that of the largest.
bool fits_better(const BoundIsland& bound, const LaunchCode& each, const LaunchCode& best) {
  if (each.whole && each.size == best.size) {
    const Workload& w = bound.point.workload;
    const bool whole = each.tile_q > 0 && w.q_len % each.tile_q == 0 && w.kv_len % each.tile_kv == 0;
    return *each.whole == whole;
  }
  if (each.axis.empty()) return false;
  const std::int64_t size = size_of_axis(bound, each.axis);
  const bool each_holds = each.size >= size, best_holds = best.size >= size;
  if (each_holds != best_holds) return each_holds;
  return each_holds ? each.size < best.size : each.size > best.size;
}

}  // namespace

const InstanceCode* code_of(const BoundIsland& bound) {
  const LaunchCode* best = nullptr;
  const std::int64_t steps = bound.plan.kernel.launch_codes.empty() ? 0 : steps_of(bound.nest);
  for (const LaunchCode& each : bound.plan.kernel.launch_codes)
    if (runs_here(bound, each, steps) && (!best || fits_better(bound, each, *best))) best = &each;
  if (best) return &best->code;
  if (!bound.how.uses_tensor_cores() || !bound.variant || bound.variant->code.warps == 0) return nullptr;
  return &bound.variant->code;
}

double of_step(const BoundIsland& bound, CodeCount count) {
  const InstanceCode* code = code_of(bound);
  return code ? static_cast<double>(code->of(CodePass::step, count)) : 0;
}

bool works_in_rounds(const BoundIsland& bound) {
  const InstanceCode* code = bound.how.uses_tensor_cores() ? nullptr : code_of(bound);
  return code && code->round_terms > 0;
}

bool waits_for_loads(const BoundIsland& bound) {
  const InstanceCode* code = bound.how.uses_tensor_cores() ? nullptr : code_of(bound);
  return code && code->round_terms == 0 &&
         (!code->loops.empty() || code->of(CodePass::once, CodeCount::load_waits) > 0);
}

}  // namespace tilescope
