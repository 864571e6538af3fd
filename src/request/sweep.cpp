#include "request/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/contains.h"
#include "base/error.h"
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
    return (axis.tile >= 0 && axis.tile != splits) || axis.warps;
  });
  return !swept && !tile_given(options) && !keeps_first_tile(options);
}

SearchOptions fixed_by(const std::vector<SweepAxis>& axes, SearchOptions search) {
  for (const SweepAxis& axis : axes) search.keep_warps = search.keep_warps || axis.warps;
  for (const SweepAxis& axis : axes)
    if (axis.tile >= 0 && !contains(search.fixed, axis.tile)) search.fixed.push_back(axis.tile);
  return search;
}

// The same points by every kernel that may be chosen, and by the schedule of the pass for what they share.
Sweep sweep_of_choices(const Options& options, const std::string& chosen_by) {
  const Options open = options.without("kernel");
  Sweep sweep = read_sweep(open);
  sweep.chosen_by = chosen_by;
  const Options each = options.has("dtype") ? open : open.with("dtype", "fp16");
  for (const std::string& kernel : kernels_of_diagram(sweep.plan.schedule.diagram.name)) {
    try {
      sweep.kernels.push_back(read_sweep(each.without("diagram").with("kernel", kernel)));
    } catch (const InputError&) {  // not built for the GPU, the formats or the tiles
    }
  }
  return sweep;
}

// A point of a sweep, settled and predicted.
struct SweptPoint {
  const Sweep* of = nullptr;
  Point point;
  Prediction prediction;
  std::vector<std::string> reasons;  // why nothing is predicted; empty: it is

  bool feasible() const { return reasons.empty() && prediction.feasible; }
};

// A point whose counts exceed 64 bits keeps its tile. Its prediction then reports the overflow.
void take_best_if_countable(const Sweep& sweep, Point& point) {
  try {
    take_best_tile(sweep.plan, sweep.hardware, point, sweep.search);
  } catch (const CountOverflow&) {
  }
}

}  // namespace

std::vector<std::string> Sweep::tiles() const {
  std::vector<std::string> names;
  const auto add = [&](const Plan& of) {
    for (const Parameter& parameter : of.schedule.parameters)
      if (!contains(names, parameter.name)) names.push_back(parameter.name);
  };
  add(plan);
  for (const Sweep& each : kernels) add(each.plan);
  return names;
}

Sweep read_sweep(const Options& options) {
  if (const auto kernel = options.text("kernel"); asks_for_choice(kernel)) return sweep_of_choices(options, *kernel);
  Sweep sweep{.plan = read_plan(options),
              .hardware = read_hardware(options),
              .axes = {},
              .base = {},
              .tile_fixed = tile_given(options),
              .best_tiles = false,
              .search = {}};
  sweep.axes = read_axes(options, sweep.plan);
  sweep.best_tiles = searches_tiles(options, sweep.axes, sweep.plan);
  sweep.search = fixed_by(sweep.axes, search_options(options, sweep.plan));
  Options first = keeps_first_tile(options) ? options.without("tile") : options;
  for (const auto& [option, value] : options_of_first_values(sweep.axes, options)) first = first.with(option, value);
  sweep.base = read_point(first, sweep.plan);
  if (const std::string reason = unsupported_on(sweep.plan, sweep.hardware); !reason.empty())
    refuse("--kernel", reason);
  if (keeps_first_tile(options)) take_best_if_countable(sweep, sweep.base), sweep.tile_fixed = true;
  return sweep;
}

std::size_t points_of(const Sweep& sweep) {
  std::size_t count = 1;
  for (const SweepAxis& axis : sweep.axes)
    if (__builtin_mul_overflow(count, axis.values.size(), &count)) return 0;
  return count;
}

namespace {

void predict_at(const Sweep& sweep, const std::vector<std::size_t>& at, SweptPoint& swept) {
  swept.of = &sweep;
  set_point(swept.point, sweep.base, sweep.plan, sweep.axes, at, sweep.tile_fixed);
  if (const auto violations = swept.point.workload.violations(); !violations.empty())
    refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), violations.front()));
  if (sweep.best_tiles) take_best_if_countable(sweep, swept.point);
  swept.reasons = unsupported(sweep.plan, sweep.hardware, swept.point);
  for (std::string& reason : outside_shapes(sweep.plan.kernel, sweep.hardware, swept.point.workload))
    swept.reasons.push_back(std::move(reason));
  try {
    if (swept.reasons.empty()) predict(sweep.plan, sweep.hardware, swept.point, swept.prediction);
  } catch (const CountOverflow& overflow) {
    refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), overflow.what()));
  }
}

// The point by the kernel that is chosen for it. Where none is, `chosen` is that of the sweep without a prediction.
void choose_at(const Sweep& sweep, const std::vector<std::size_t>& at, SweptPoint& chosen) {
  chosen.of = &sweep;
  chosen.point = sweep.base;
  set_point(chosen.point, sweep.base, sweep.plan, sweep.axes, at, sweep.tile_fixed);
  chosen.reasons = {fmt::format("no kernel with a descriptor takes this point on {}", sweep.hardware.id)};
  std::string named;
  if (sweep.chosen_by != "auto") {
    const KernelChoice choice = kernel_of_call(sweep.chosen_by, sweep.hardware, sweep.plan, chosen.point);
    if (choice.kernel.empty()) return void(chosen.reasons = choice.reasons);
    named = choice.kernel;
  }
  for (const Sweep& each : sweep.kernels) {
    if (!named.empty() && each.plan.kernel.name != named) continue;
    SweptPoint candidate{.of = &each, .point = each.base, .prediction = {}, .reasons = {}};
    predict_at(each, at, candidate);
    const bool faster =
        candidate.feasible() && (!chosen.feasible() || candidate.prediction.time.total < chosen.prediction.time.total);
    if (faster || !named.empty()) chosen = std::move(candidate);
  }
}

}  // namespace

bool each_point(const Sweep& sweep, const SweepVisitor& visit,
                const std::function<void(std::size_t done, std::size_t all)>& progress) {
  SweptPoint swept{.of = &sweep, .point = sweep.base, .prediction = {}, .reasons = {}};
  bool any_feasible = false;
  std::size_t done = 0;
  const std::size_t all = points_of(sweep);
  std::vector<std::size_t> at(sweep.axes.size(), 0);
  for (std::size_t digit = 0; digit < at.size();) {
    if (sweep.chosen_by.empty()) predict_at(sweep, at, swept);
    else choose_at(sweep, at, swept);
    visit(*swept.of, swept.point, swept.reasons.empty() ? &swept.prediction : nullptr, swept.reasons);
    any_feasible = any_feasible || swept.feasible();
    if (progress) progress(++done, all);
    for (digit = 0; digit < at.size() && ++at[digit] == sweep.axes[digit].values.size(); ++digit) at[digit] = 0;
  }
  return any_feasible;
}

Json sweep_object(const Sweep& sweep, const Point& point, const Prediction* prediction,
                  const std::vector<std::string>& unsupported) {
  if (prediction) {
    JsonOptions options = stated_errors(sweep.plan, sweep.hardware, point, *prediction);
    options.terms = false;
    return to_json(sweep.plan, sweep.hardware, point, *prediction, options);
  }
  return unsupported_json(sweep.plan, sweep.hardware, point, unsupported);
}

}  // namespace tilescope
