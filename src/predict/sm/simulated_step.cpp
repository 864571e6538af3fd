#include "predict/sm/simulated_step.h"

#include <algorithm>

#include "predict/point/code_of.h"
#include "predict/point/products.h"
#include "predict/sm/latency.h"
#include "predict/sm/step_question.h"
#include "predict/work/masked_scores.h"

namespace tilescope {
namespace {

// Whether the profile has all rates of a simulation. Rules derive those that an NVIDIA GPU's lacks
// (hardware/derived.h).
bool has_rates(const HardwareProfile& hardware) {
  if (!hardware.measured) return false;
  const MeasuredRates& m = *hardware.measured;
  const auto& p = m.pipes;
  const auto& c = m.chains;
  const auto& s = m.smem;
  const auto all = [](std::initializer_list<const MeasuredRates::Value*> values) {
    return std::all_of(values.begin(), values.end(), [](const auto* value) { return value->has_value(); });
  };
  return m.sync.block_barrier.size() > 1 && has_memory_latency(hardware) &&
         all({&m.l2.latency_near, &m.l2.latency_far, &m.local.latency_l1, &m.local.latency, &m.local.store}) &&
         all({&s.store, &s.latency, &s.latency_wide, &s.ldmatrix, &s.stmatrix, &s.cp_async}) &&
         all({&p.ex2, &p.rcp, &p.lg2, &p.ffma, &p.fadd, &p.fmul, &p.max, &p.lop3, &p.iadd3, &p.prmt, &p.cvt_f16x2,
              &p.cvt_bf16x2, &p.shuffle, &p.issue}) &&
         all({&c.ffma, &c.ex2, &c.shuffle, &c.ldmatrix, &c.movmatrix, &c.constant, &c.operands_read});
}

// Of the steps, those whose tile the mask cuts.
double masked_part(const BoundIsland& bound) {
  const Nest& nest = bound.nest;
  if (!nest.guarded()) return 0;
  auto scores = static_cast<double>(bound.scored.tiles.area);  // of one head
  for (const BoundLoop& loop : nest.all())
    if (&loop != &nest.loops[static_cast<std::size_t>(nest.query_loop)] &&
        &loop != &nest.loops[static_cast<std::size_t>(nest.key_loop)])
      scores *= static_cast<double>(loop.trips);
  return scores > 0 ? std::clamp(masked_scores(bound, scores) / scores, 0.0, 1.0) : 0;
}

}  // namespace

std::optional<StepQuestion> step_question(const BoundIsland& bound, std::int64_t resident, CopySource source,
                                          const LocalTraffic& local) {
  if (!bound.how.uses_tensor_cores() || !bound.plan.steps) return std::nullopt;
  const KernelDescriptor& kernel = bound.plan.kernel;
  const InstanceCode* code = kernel.program.empty() ? code_of(bound) : nullptr;
  if (kernel.program.empty() && (!code || !bound.plan.steps->has(code->symbol))) return std::nullopt;
  return StepQuestion{.symbol = code ? code->symbol : kernel.name,
                      .masked = false,
                      .warps = static_cast<int>(code ? code->warps : consumer_warps(bound)),
                      .resident = static_cast<int>(resident),
                      .copies_from = source,
                      .local_missed = local.loaded > 0 ? static_cast<int>(local.missed * 100 / local.loaded) : 0};
}

bool simulates(const BoundIsland& bound) {
  const SmEngine engine = bound.point.time.engine;
  if (engine == SmEngine::queues || (engine == SmEngine::best && !bound.plan.kernel.simulated)) return false;
  if (!has_rates(bound.hardware)) return false;
  return step_question(bound, 1, CopySource::l2).has_value();
}

double simulated_step(const LaunchAtSm& launch, std::int64_t resident, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  const double masked = masked_part(bound);
  const auto mean_step = [&](CopySource source) {
    StepQuestion question = *step_question(bound, resident, source, launch.counts.local);
    const double whole = bound.plan.steps->clocks(question, bound.hardware);
    question.masked = true;
    return masked > 0 ? whole + masked * (bound.plan.steps->clocks(question, bound.hardware) - whole) : whole;
  };
  const double missed = missed_part(launch, inputs), near = mean_step(CopySource::l2);
  return missed > 0 ? near + missed * (mean_step(CopySource::hbm) - near) : near;
}

SimulatedEnds simulated_ends(const LaunchAtSm& launch, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  const StepPrograms& steps = *bound.plan.steps;
  const StepQuestion near = *step_question(bound, 1, CopySource::l2), far = *step_question(bound, 1, CopySource::hbm);
  SimulatedEnds ends{.lead = steps.before(near, bound.hardware), .trail = steps.after(near, bound.hardware)};
  if (ends.lead <= 0 || bound.how.load().bulk) return ends;
  const double missed = missed_part(launch, inputs);
  ends.around = (1 - missed) * steps.around(near, bound.hardware);
  if (missed > 0) ends.around += missed * steps.around(far, bound.hardware);
  return ends;
}

}  // namespace tilescope
