#include "predict/sm/simulated_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/point/products.h"
#include "predict/sm/latency.h"
#include "predict/sm/step_lowering.h"
#include "predict/work/masked_scores.h"

namespace tilescope {
namespace {

int missed_percent(const LocalTraffic& local) {
  return local.loaded > 0 ? static_cast<int>(local.missed * 100 / local.loaded) : 0;
}

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

// Whether it has those of the launch's products; no other GPU's stand for them.
bool has_product_rates(const BoundIsland& bound) {
  const auto& tensor = bound.hardware.measured->tensor;
  const TensorPathRow& path = bound.how.path();
  bool all = path.warpgroup ? !tensor.wgmma_latency.empty() : path.from_registers;
  for_each_product(bound, [&](const Product& product) {
    const Format format = product.computes_in;
    const bool known = bits(format) == 16 || format == Format::fp8_e4m3;  // as programs name them
    all = all && known &&
          (path.warpgroup ? tensor.wgmma_smem.contains(format) && tensor.wgmma_register.contains(format)
                          : tensor.mma.contains(format) && tensor.mma_latency.contains(Format::fp16));
  });
  return all;
}

// Adds the synthesised program to the plan's, unless it is there. Returns its symbol.
std::string synthesised(const LaunchAtSm& launch, double steps) {
  const SmRates& rates = launch.rates;
  const bool halved = halved_depth(launch.bound.how) && rates.mma_k8_chain > 0;
  std::string text = lowered_step(warp_step(launch, steps), halved ? rates.mma_k8_chain : rates.mma_chain);
  std::string symbol = fmt::format("synthesised {:016x}", std::hash<std::string>{}(text));
  launch.bound.plan.steps->add(symbol, std::move(text));
  return symbol;
}

StepQuestion question_of(std::string symbol, std::int64_t warps, const LocalTraffic& local) {
  return {.symbol = std::move(symbol),
          .warps = static_cast<int>(warps),
          .resident = 1,
          .copies_from = CopySource::l2,
          .local_missed = missed_percent(local)};
}

// Memory, L2 and power are not simulated in an SM: their levers do not change a step.
constexpr std::array sm_units{std::pair(Lever::smem, SmFaster::shared), std::pair(Lever::tensor, SmFaster::tensor),
                              std::pair(Lever::xu, SmFaster::xu),       std::pair(Lever::fma, SmFaster::fma),
                              std::pair(Lever::alu, SmFaster::alu),     std::pair(Lever::latency, SmFaster::latency)};

// The unit that is faster than the profile says.
SmFaster faster_unit(const Faster& faster) {
  for (const auto& [lever, unit] : sm_units)
    if (faster[static_cast<std::size_t>(lever)] > 1) return unit;
  return SmFaster::none;
}

// Of blocks of which `resident` are on an SM.
StepQuestion faster_step(StepQuestion question, std::int64_t resident, SmFaster unit) {
  question.resident = static_cast<int>(resident), question.faster = unit, question.few = true;
  return question;
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

std::optional<StepQuestion> step_question(const BoundIsland& bound, const LocalTraffic& local) {
  if (!bound.how.uses_tensor_cores() || !bound.plan.steps) return std::nullopt;
  const KernelDescriptor& kernel = bound.plan.kernel;
  if (!kernel.program.empty()) return question_of(kernel.name, consumer_warps(bound), local);
  const InstanceCode* code = code_of(bound);
  if (!code || !bound.plan.steps->has(code->symbol)) return std::nullopt;
  return question_of(code->symbol, code->warps, local);
}

bool can_simulate(const BoundIsland& bound) {
  if (!bound.how.uses_tensor_cores() || !bound.plan.steps || !has_rates(bound.hardware)) return false;
  const bool reads_code = bound.point.time.engine != SmEngine::synthesised;
  return (reads_code && step_question(bound)) || has_product_rates(bound);
}

const AskedStep& asked_step(const LaunchAtSm& launch, double steps) {
  return launch.asked.of(steps, [&]() -> AskedStep {
    const BoundIsland& bound = launch.bound;
    const LocalTraffic& local = launch.counts.local;
    if (bound.point.time.engine != SmEngine::synthesised)
      if (const auto of_code = step_question(bound, local)) return {.question = *of_code, .synthesised = false};
    return {.question = question_of(synthesised(launch, steps), consumer_warps(bound), local), .synthesised = true};
  });
}

std::vector<StepQuestion> faster_steps(const LaunchAtSm& launch, double steps) {
  const StepQuestion usual = faster_step(asked_step(launch, steps).question, launch.resident(), SmFaster::none);
  std::vector<StepQuestion> all{usual};
  for (const auto& [lever, unit] : sm_units) all.push_back(faster_step(usual, usual.resident, unit));
  return all;
}

SimulatedSteps::SimulatedSteps(const LaunchAtSm& launch, double steps)
    : launch_(launch),
      steps_(steps),
      question_(asked_step(launch, steps).question),
      masked_(masked_part(launch.bound)),
      shorter_(shorter()) {}

// A faster unit shortens all steps of a launch in the ratio in which it shortens those of as many blocks as fit.
double SimulatedSteps::shorter() const {
  const SmFaster unit = faster_unit(launch_.faster);
  if (unit == SmFaster::none) return 1;
  const auto clocks = [&](SmFaster faster) {
    return launch_.bound.plan.steps->clocks(faster_step(question_, launch_.resident(), faster), launch_.bound.hardware);
  };
  const double usual = clocks(SmFaster::none);
  return usual > 0 ? clocks(unit) / usual : 1;
}

double SimulatedSteps::clocks(std::int64_t resident, Inputs inputs) const {
  const auto step = [&](CopySource source, std::int64_t blocks, bool masked) {
    StepQuestion question = question_;
    question.resident = static_cast<int>(blocks), question.copies_from = source, question.masked = masked;
    return launch_.bound.plan.steps->clocks(question, launch_.bound.hardware);
  };
  // Blocks are at masked tiles at different times: one that is alone tells how much longer these take.
  const auto mean_step = [&](CopySource source) {
    const double whole = step(source, resident, false) * shorter_, alone = masked_ > 0 ? step(source, 1, false) : 0;
    return alone > 0 ? whole * (1 + masked_ * (step(source, 1, true) / alone - 1)) : whole;
  };
  const double missed = missed_part(launch_, inputs), loads_missed = missed_loads(launch_, inputs),
               near = mean_step(CopySource::l2);
  const double copies = missed > 0 ? missed * (mean_step(CopySource::hbm) - near) : 0,
               loads = loads_later(resident, loads_missed),
               waits = std::max(copies > 0 ? missed : 0, loads > 0 ? loads_missed : 0);
  return behind_stores(near + copies + loads, waits, resident);
}

// Loads wait in proportion to the part of memory's time that stores take (hbm.write_wait), which is less the longer a
// step is: x = clocks + wait * (clocks of memory for the stores of a step of all blocks) / x.
double SimulatedSteps::behind_stores(double clocks, double missed, std::int64_t resident) const {
  const BoundIsland& bound = launch_.bound;
  const auto& hbm = bound.hardware.measured->hbm;
  if (missed <= 0 || !hbm.write_wait || !hbm.write || !at_work(bound, Mechanism::behind_stores)) return clocks;
  const double stored = static_cast<double>(launch_.counts.traffic.written(Boundary::hbm)) / steps_,
               stores = stored / hbm.write->value * launch_.memory_hz / launch_.faster_by(Lever::hbm),
               wait = hbm.write_wait->value * launch_.memory_hz / launch_.faster_by(Lever::latency);
  const auto at_once = static_cast<double>(std::min(grid_blocks(bound), bound.hardware.units.value * resident));
  const double all = missed * wait * stores * at_once;
  return (clocks + std::sqrt(clocks * clocks + 4 * all)) / 2;
}

double SimulatedSteps::loads_later(std::int64_t resident, double missed) const {
  if (missed <= 0) return 0;
  StepQuestion question = question_;
  question.resident = static_cast<int>(resident);
  const auto step = [&](CopySource source) {
    question.loads_from = source;
    return launch_.bound.plan.steps->clocks(question, launch_.bound.hardware);
  };
  return missed * (step(CopySource::hbm) - step(CopySource::l2));
}

SimulatedEnds SimulatedSteps::ends(Inputs inputs) const {
  const BoundIsland& bound = launch_.bound;
  const StepPrograms& programs = *bound.plan.steps;
  StepQuestion far = question_;
  far.copies_from = CopySource::hbm;
  SimulatedEnds ends{.lead = programs.before(question_, bound.hardware),
                     .trail = programs.after(question_, bound.hardware)};
  if (ends.lead <= 0) return ends;
  if (bound.how.load().bulk) {
    StepQuestion tile = question_;
    tile.stays = bound.how.persistent;
    if (tile.stays) ends.around = programs.around(tile, bound.hardware);
    return ends;
  }
  const double missed = missed_part(launch_, inputs);
  ends.around = (1 - missed) * programs.around(question_, bound.hardware);
  if (missed > 0) ends.around += missed * programs.around(far, bound.hardware);
  return ends;
}

}  // namespace tilescope
