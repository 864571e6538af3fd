#include "request/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/contains.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "request/answer.h"
#include "request/best_tile.h"
#include "request/choose_kernel.h"

namespace tilescope {
namespace {

// --tile first: every point has the best tile of the first point.
bool keeps_first_tile(const Options& options) { return options.text("tile") == "first"; }

// True if the search chooses the tile of a point, or of a kernel's variants one that has the given sizes.
bool searches_tiles(const Options& options, const std::vector<SweepAxis>& axes, const Plan& plan) {
  if (!plan.kernel.variants.empty()) return !keeps_first_tile(options);
  const int splits = plan.schedule.find_parameter("splits");
  const bool swept = std::any_of(axes.begin(), axes.end(), [&](const SweepAxis& axis) {
    return (axis.tile >= 0 && axis.tile != splits) || axis.warps || axis.stages;
  });
  return !swept && !tile_given(options) && !keeps_first_tile(options);
}

SearchOptions fixed_by(const std::vector<SweepAxis>& axes, SearchOptions search) {
  for (const SweepAxis& axis : axes)
    search.keep_warps = search.keep_warps || axis.warps, search.keep_stages = search.keep_stages || axis.stages;
  for (const SweepAxis& axis : axes)
    if (axis.tile >= 0 && !contains(search.fixed, axis.tile)) search.fixed.push_back(axis.tile);
  return search;
}

// The same points by every kernel that may be chosen, and by the schedule of the pass for what they share.
Sweep sweep_of_choices(const Options& options, const std::string& chosen_by, SharedPlans* shared) {
  const Options open = options.without("kernel");
  Sweep sweep = read_sweep(open, shared);
  sweep.chosen_by = chosen_by;
  const Options each = options.has("dtype") ? open : open.with("dtype", "fp16");
  for (const std::string& kernel : kernels_of_diagram(sweep.plan->schedule.diagram.name)) {
    try {
      sweep.kernels.push_back(read_sweep(each.without("diagram").with("kernel", kernel), shared));
    } catch (const InputError&) {  // not built for the GPU, the formats or the tiles
    }
  }
  return sweep;
}

// A point whose counts exceed 64 bits keeps its tile. Its prediction then reports the overflow.
void take_best_if_countable(const Sweep& sweep, Point& point) {
  try {
    take_best_tile(*sweep.plan, *sweep.hardware, point, sweep.search);
  } catch (const CountOverflow&) {
  }
}

// The values of these options, which name a plan or a GPU.
std::string key_of(const Options& options, const std::vector<std::string>& names) {
  std::string key;
  for (const std::string& name : names) key += join(options.all(name), ",") + "\n";
  return key;
}

template <class Value, class Read>
std::shared_ptr<const Value> shared_value(std::map<std::string, std::shared_ptr<const Value>>& known,
                                          const std::string& key, const Read& read) {
  std::shared_ptr<const Value>& value = known[key];
  if (!value) value = std::make_shared<const Value>(read());
  return value;
}

}  // namespace

std::vector<std::string> Sweep::tiles() const {
  std::vector<std::string> names;
  const auto add = [&](const Plan& of) {
    for (const Parameter& parameter : of.schedule.parameters)
      if (!contains(names, parameter.name)) names.push_back(parameter.name);
  };
  add(*plan);
  for (const Sweep& each : kernels) add(*each.plan);
  return names;
}

PredictedPoint SweptPoint::row() const {
  static const JsonOptions none;
  return {*of->plan, *of->hardware, point, predicted(), none, join(reasons, "; ")};
}

Sweep read_sweep(const Options& options, SharedPlans* shared) {
  if (const auto kernel = options.text("kernel"); asks_for_choice(kernel))
    return sweep_of_choices(options, *kernel, shared);
  SharedPlans own;
  SharedPlans& read = shared ? *shared : own;
  Sweep sweep{.plan = shared_value(read.plans, key_of(options, {"kernel", "schedule", "diagram", "size", "pass"}),
                                   [&] { return read_plan(options); }),
              .hardware = shared_value(read.gpus, key_of(options, {"hardware", "basis"}),
                                       [&] { return read_hardware(options); }),
              .axes = {},
              .base = {},
              .tile_fixed = tile_given(options),
              .best_tiles = false,
              .search = {}};
  const Plan& plan = *sweep.plan;
  sweep.axes = read_axes(options, plan);
  sweep.best_tiles = searches_tiles(options, sweep.axes, plan);
  sweep.search = fixed_by(sweep.axes, search_options(options, plan));
  Options first = keeps_first_tile(options) ? options.without("tile") : options;
  for (const auto& [option, value] : options_of_first_values(sweep.axes, options)) first = first.with(option, value);
  sweep.base = read_point(first, plan);
  if (const std::string reason = unsupported_on(plan, *sweep.hardware); !reason.empty()) refuse("--kernel", reason);
  if (keeps_first_tile(options)) take_best_if_countable(sweep, sweep.base), sweep.tile_fixed = true;
  return sweep;
}

void settle_at(const Sweep& sweep, const std::vector<std::size_t>& at, SweptPoint& swept) {
  swept.of = &sweep;
  // What does not depend on the position is not copied again.
  if (swept.based_on != &sweep) swept.point = sweep.base, swept.based_on = &sweep;
  set_point(swept.point, sweep.base, *sweep.plan, sweep.axes, at, sweep.tile_fixed);
  swept.reasons.clear();
}

namespace {

// Whether the GPU has a rate for the formats is the same for all points of a sweep, unless a kernel has other code for
// other sizes: the first one with its time tells.
void predict_wanted(const Sweep& sweep, SweptPoint& swept, Wanted wanted) {
  if (swept.rated != &sweep || !sweep.plan->kernel.others.empty()) wanted = std::min(wanted, Wanted::times);
  if (swept.predicted_of != &sweep) swept.blocks.clear(), swept.predicted_of = &sweep;
  predict(*sweep.plan, *sweep.hardware, swept.point, swept.prediction, wanted, &swept.blocks);
  if (wanted <= Wanted::times) {
    swept.rated = &sweep, swept.has_rate = swept.prediction.runnable;
    return;
  }
  swept.prediction.runnable = swept.has_rate;
  swept.prediction.feasible = swept.prediction.feasible && swept.has_rate;
}

void predict_one(const Sweep& sweep, const std::vector<std::size_t>& at, SweptPoint& swept, Wanted wanted) {
  settle_at(sweep, at, swept);
  if (const auto violations = swept.point.workload.violations(); !violations.empty())
    refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), violations.front()));
  swept.reasons = sweep.refused;
  if (!swept.reasons.empty()) return;
  if (sweep.best_tiles) take_best_if_countable(sweep, swept.point);
  swept.reasons = unsupported(*sweep.plan, *sweep.hardware, swept.point);
  for (std::string& reason : outside_shapes(sweep.plan->kernel, *sweep.hardware, swept.point.workload))
    swept.reasons.push_back(std::move(reason));
  try {
    if (swept.reasons.empty()) predict_wanted(sweep, swept, wanted);
  } catch (const CountOverflow& overflow) {
    refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), overflow.what()));
  }
}

// The point by the kernel that is chosen for it. Where none is, `chosen` is that of the sweep without a prediction.
void choose_at(const Sweep& sweep, const std::vector<std::size_t>& at, SweptPoint& chosen, Wanted wanted) {
  settle_at(sweep, at, chosen);
  chosen.reasons = {fmt::format("no kernel with a descriptor takes this point on {}", sweep.hardware->id)};
  std::string named;
  if (sweep.chosen_by != "auto") {
    const KernelChoice choice = kernel_of_call(sweep.chosen_by, *sweep.hardware, *sweep.plan, chosen.point);
    if (choice.kernel.empty()) return void(chosen.reasons = choice.reasons);
    named = choice.kernel;
  }
  for (const Sweep& each : sweep.kernels) {
    if (!named.empty() && each.plan->kernel.name != named) continue;
    SweptPoint candidate;
    predict_one(each, at, candidate, std::min(wanted, Wanted::times));
    const bool faster =
        candidate.feasible() && (!chosen.feasible() || candidate.prediction.time.total < chosen.prediction.time.total);
    if (faster || !named.empty()) chosen = std::move(candidate);
  }
}

}  // namespace

void predict_at(const Sweep& sweep, const std::vector<std::size_t>& at, SweptPoint& swept, Wanted wanted) {
  if (sweep.chosen_by.empty()) predict_one(sweep, at, swept, wanted);
  else choose_at(sweep, at, swept, wanted);
}

Json sweep_object(const SweptPoint& swept) {
  const Plan& plan = *swept.of->plan;
  const HardwareProfile& hardware = *swept.of->hardware;
  if (!swept.predicted()) return unsupported_json(plan, hardware, swept.point, swept.reasons);
  JsonOptions options = stated_errors(plan, hardware, swept.point, swept.prediction);
  options.terms = false;
  return to_json(plan, hardware, swept.point, swept.prediction, options);
}

}  // namespace tilescope
