#include "request/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "predict/explain/labels.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "request/answer.h"

namespace tilescope {
namespace {

// A default tile that cannot run at the first point would make an empty sweep: the best tile of that point takes its
// place.
void replace_unfit_tile(const Options& options, Sweep& sweep) {
  const bool swept = std::any_of(sweep.axes.begin(), sweep.axes.end(),
                                 [](const SweepAxis& axis) { return axis.tile >= 0 || axis.warps; });
  if (!sweep.plan.assumed || sweep.tile_fixed || swept) return;
  Prediction prediction;
  SearchResult result;
  try {
    predict(sweep.plan, sweep.hardware, sweep.base, prediction);
    if (prediction.feasible || !prediction.runnable) return;
    result = search_tiles(sweep.plan, sweep.hardware, sweep.base, search_options(options, sweep.plan));
  } catch (const CountOverflow&) {
    return;  // the point says so itself, with its place
  }
  if (result.feasible.empty()) return;
  const Point& best = result.feasible.front().point;
  sweep.note = fmt::format("the default tile {} cannot run here; every point takes {}, the best of the first point",
                           tile_label(sweep.plan, sweep.base), tile_label(sweep.plan, best));
  sweep.base.tiles = best.tiles, sweep.base.warps = best.warps;
}

}  // namespace

Sweep read_sweep(const Options& options) {
  Sweep sweep{.plan = read_plan(options),
              .hardware = read_hardware(options),
              .axes = {},
              .base = {},
              .tile_fixed = tile_given(options),
              .errors = {},
              .note = {}};
  sweep.axes = read_axes(options, sweep.plan);
  Options first = options;
  for (const auto& [option, value] : options_of_first_values(sweep.axes, options)) first = first.with(option, value);
  sweep.base = read_point(first, sweep.plan);
  for (const char* regime : {"short", "memory", "compute", "spills"}) {
    sweep.errors[regime] = recorded_errors(sweep.plan, sweep.hardware, regime);
    sweep.errors[regime].terms = false;
  }
  replace_unfit_tile(options, sweep);
  if (const std::string reason = unsupported_on(sweep.plan, sweep.hardware); !reason.empty())
    refuse("--kernel", reason);
  return sweep;
}

std::size_t points_of(const Sweep& sweep) {
  std::size_t count = 1;
  for (const SweepAxis& axis : sweep.axes)
    if (__builtin_mul_overflow(count, axis.values.size(), &count)) return 0;
  return count;
}

bool each_point(const Sweep& sweep, const SweepVisitor& visit,
                const std::function<void(std::size_t done, std::size_t all)>& progress) {
  Point point = sweep.base;
  Prediction prediction;
  bool any_feasible = false;
  std::size_t done = 0;
  const std::size_t all = points_of(sweep);
  std::vector<std::size_t> at(sweep.axes.size(), 0);
  for (std::size_t digit = 0; digit < at.size();) {
    set_point(point, sweep.base, sweep.plan, sweep.axes, at, sweep.tile_fixed);
    if (const auto violations = point.workload.violations(); !violations.empty())
      refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), violations.front()));
    const auto reasons = unsupported(sweep.plan, point);
    try {
      if (reasons.empty()) predict(sweep.plan, sweep.hardware, point, prediction);
      visit(point, reasons.empty() ? &prediction : nullptr, reasons);
    } catch (const CountOverflow& overflow) {
      refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), overflow.what()));
    }
    any_feasible = any_feasible || (reasons.empty() && prediction.feasible);
    if (progress) progress(++done, all);
    for (digit = 0; digit < at.size() && ++at[digit] == sweep.axes[digit].values.size(); ++digit) at[digit] = 0;
  }
  return any_feasible;
}

Json sweep_object(const Sweep& sweep, const Point& point, const Prediction* prediction,
                  const std::vector<std::string>& unsupported) {
  if (prediction)
    return to_json(sweep.plan, sweep.hardware, point, *prediction, sweep.errors.at(regime_of(*prediction)));
  return Json{{"schema", "tilescope/prediction/1"},
              {"point", point_json(sweep.plan, sweep.hardware.id, point)},
              {"feasible", false},
              {"unsupported", unsupported}};
}

}  // namespace tilescope
