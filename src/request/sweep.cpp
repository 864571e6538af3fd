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

namespace tilescope {
namespace {

// --tile first: every point has the best tile of the first point.
bool keeps_first_tile(const Options& options) { return options.text("tile") == "first"; }

// True if the search chooses the tile of a point, because no option, axis or first point sets it.
bool searches_tiles(const Options& options, const std::vector<SweepAxis>& axes, const Plan& plan) {
  const int splits = plan.schedule.find_parameter("splits");
  const bool swept = std::any_of(axes.begin(), axes.end(), [&](const SweepAxis& axis) {
    return (axis.tile >= 0 && axis.tile != splits) || axis.warps;
  });
  return !swept && !tile_given(options) && !keeps_first_tile(options);
}

SearchOptions fixed_by(const std::vector<SweepAxis>& axes, SearchOptions search) {
  for (const SweepAxis& axis : axes)
    if (axis.tile >= 0 && !contains(search.fixed, axis.tile)) search.fixed.push_back(axis.tile);
  return search;
}

// A point whose counts exceed 64 bits keeps its tile. Its prediction then reports the overflow.
void take_best_if_countable(const Sweep& sweep, Point& point) {
  try {
    take_best_tile(sweep.plan, sweep.hardware, point, sweep.search);
  } catch (const CountOverflow&) {
  }
}

}  // namespace

Sweep read_sweep(const Options& options) {
  Sweep sweep{.plan = read_plan(options),
              .hardware = read_hardware(options),
              .axes = {},
              .base = {},
              .tile_fixed = tile_given(options),
              .best_tiles = false,
              .search = {},
              .errors = {}};
  sweep.axes = read_axes(options, sweep.plan);
  sweep.best_tiles = searches_tiles(options, sweep.axes, sweep.plan);
  sweep.search = fixed_by(sweep.axes, search_options(options, sweep.plan));
  Options first = keeps_first_tile(options) ? options.without("tile") : options;
  for (const auto& [option, value] : options_of_first_values(sweep.axes, options)) first = first.with(option, value);
  sweep.base = read_point(first, sweep.plan);
  for (const char* regime : {"short", "memory", "compute", "spills"}) {
    sweep.errors[regime] = stated_errors(sweep.plan, sweep.hardware, regime);
    sweep.errors[regime].terms = false;
  }
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
    if (sweep.best_tiles) take_best_if_countable(sweep, point);
    const auto reasons = unsupported(sweep.plan, sweep.hardware, point);
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
