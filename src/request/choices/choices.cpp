#include "request/choices/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/checked.h"
#include "base/error.h"
#include "base/units.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "request/best_tile.h"
#include "request/choose_kernel.h"
#include "request/option_specs.h"
#include "request/sweep/grid.h"

namespace tilescope {
namespace {

constexpr std::size_t most_cells = 100'000;

bool same_tile(const Point& a, const Point& b) {
  return a.tiles == b.tiles && a.warps == b.warps && a.stages == b.stages;
}

void take_tile(Point& point, const Point& from) {
  point.tiles = from.tiles, point.warps = from.warps, point.stages = from.stages;
}

class Chooser {
 public:
  explicit Chooser(Choices& out)
      : out_(out), sweep_(out.sweep), plan_(*out.sweep.plan), gpu_(*out.sweep.hardware), point_(out.sweep.base) {}

  ChoiceCell cell(const std::vector<std::size_t>& at) {
    ChoiceCell cell{.at = at, .why = {}};
    set_point(point_, sweep_.base, plan_, sweep_.axes, at, sweep_.tile_fixed);
    if (const auto wrong = point_.workload.violations(); !wrong.empty())
      refuse("--axis", fmt::format("at {}: {}", place(sweep_.axes, at), wrong.front()));
    const std::optional<Candidate> best = search(cell.why);
    if (!best) return cell;
    cell.best_seconds = best->busy_seconds;
    if (out_.tolerance > 0)
      for (std::size_t i = 0; i < out_.list.size() && cell.choice < 0; ++i)
        if (const auto seconds = seconds_with(out_.list[i].point, point_.l2);
            seconds && *seconds <= cell.best_seconds * (1 + out_.tolerance))
          cell.choice = static_cast<int>(i), cell.seconds = *seconds;
    if (cell.choice < 0) cell.choice = position_of(best->point), cell.seconds = best->busy_seconds;
    ++out_.list[static_cast<std::size_t>(cell.choice)].best_in;
    return cell;
  }

  // What each choice would lose in all cells.
  void everywhere(TileChoice& choice) {
    double sum = 0;
    int cells = 0;
    for (const ChoiceCell& cell : out_.cells) {
      if (cell.choice < 0) continue;
      set_point(point_, sweep_.base, plan_, sweep_.axes, cell.at, sweep_.tile_fixed);
      const auto own = seconds_with(out_.list[static_cast<std::size_t>(cell.choice)].point, L2Model::closed),
                 with = seconds_with(choice.point, L2Model::closed);
      if (!with || !own) {
        choice.everywhere = false;
        continue;
      }
      const double loss = *with / *own - 1;
      sum += loss, ++cells;
      choice.worst_loss = std::max(choice.worst_loss, loss);
    }
    choice.mean_loss = cells > 0 ? sum / cells : 0;
  }

  // Sizes inside the ranges, even on a logarithmic scale.
  void check(std::mt19937_64& random, double& sum) {
    std::vector<std::int64_t> sizes;
    std::vector<SweepAxis> axes = sweep_.axes;
    for (SweepAxis& axis : axes) {
      const double first = std::log(static_cast<double>(axis.values[0])),
                   last = std::log(static_cast<double>(axis.values[axis.values.size() - 1]));
      const double part = static_cast<double>(random() >> 11) * 0x1p-53;
      sizes.push_back(std::llround(std::exp(first + part * (last - first))));
      axis.values = AxisValues::parse(std::to_string(sizes.back()), false);
    }
    const ChoiceCell* cell = out_.cell_of(sizes);
    if (!cell || cell->choice < 0) return;
    set_point(point_, sweep_.base, plan_, axes, std::vector<std::size_t>(axes.size(), 0), sweep_.tile_fixed);
    if (!point_.workload.violations().empty()) return;
    std::string why;
    const std::optional<Candidate> best = search(why);
    if (!best) return;
    ++out_.checks.points;
    const Point& chosen = out_.list[static_cast<std::size_t>(cell->choice)].point;
    if (same_tile(best->point, chosen)) return void(++out_.checks.equal);
    const auto seconds = seconds_with(chosen, point_.l2);
    if (!seconds) return void(++out_.checks.cannot_run);
    const double loss = *seconds / best->busy_seconds - 1;
    sum += loss, out_.checks.worst_loss = std::max(out_.checks.worst_loss, loss);
  }

 private:
  std::optional<Candidate> search(std::string& why) {
    if (const auto reasons = outside_shapes(plan_.kernel, gpu_, point_.workload); !reasons.empty()) {
      why = reasons.front();
      return std::nullopt;
    }
    const SearchResult result = search_tiles(plan_, gpu_, point_, sweep_.search);
    if (result.feasible.empty()) why = "no tile fits";
    return result.feasible.empty() ? std::nullopt : std::optional(result.feasible.front());
  }

  std::optional<double> seconds_with(const Point& tile, L2Model l2) {
    Point point = point_;
    take_tile(point, tile), point.l2 = l2;
    if (!unsupported(plan_, gpu_, point).empty()) return std::nullopt;
    predict(plan_, gpu_, point, prediction_, Wanted::times);
    return prediction_.feasible ? std::optional(busy_seconds(gpu_, prediction_)) : std::nullopt;
  }

  int position_of(const Point& tile) {
    const auto same = [&](const TileChoice& known) { return same_tile(known.point, tile); };
    const auto found = std::find_if(out_.list.begin(), out_.list.end(), same);
    if (found != out_.list.end()) return static_cast<int>(found - out_.list.begin());
    out_.list.push_back({.point = tile});
    return static_cast<int>(out_.list.size()) - 1;
  }

  Choices& out_;
  const Sweep& sweep_;
  const Plan& plan_;
  const HardwareProfile& gpu_;
  Point point_;
  Prediction prediction_{};
};

double tolerance_of(const Options& options) {
  const auto given = options.text("tolerance");
  if (!given) return 0;
  const auto percent = parse_decimal(given->ends_with('%') ? given->substr(0, given->size() - 1) : *given);
  if (!percent || *percent < 0 || *percent > 100)
    refuse("--tolerance", fmt::format("expected percent from 0 to 100, as in 2%, found '{}'", *given));
  return *percent / 100;
}

// The number of cells, or 0 where there are too many.
std::size_t cells_of(const Sweep& sweep) {
  std::size_t cells = 1;
  for (const SweepAxis& axis : sweep.axes) {
    if (axis.values.size() > most_cells / cells) return 0;
    cells *= axis.values.size();
  }
  return cells;
}

void refuse_what_has_no_table(const Options& options, const Sweep& sweep) {
  if (!sweep.chosen_by.empty()) refuse("--kernel", "a table of tiles is of one kernel: name it, or a schedule");
  if (cells_of(sweep) == 0) refuse("--axis", fmt::format("a table has at most {} cells", most_cells));
  for (const SweepAxis& axis : sweep.axes) {
    if (axis.tile >= 0 || axis.warps)
      refuse("--axis", fmt::format("'{}' is what the search chooses; give sizes", axis.name));
    const std::vector<std::int64_t> ends = axis.values.written_out();
    if (!std::is_sorted(ends.begin(), ends.end()))
      refuse("--axis", fmt::format("the values of '{}' are ends of ranges: give them from small to large", axis.name));
  }
  if (tile_given(options)) refuse("--tile", "search chooses the tile: leave it out");
}

}  // namespace

const ChoiceCell* Choices::cell_of(const std::vector<std::int64_t>& sizes) const {
  std::size_t position = 0, stride = 1;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    const AxisValues& ends = sweep.axes[a].values;
    std::size_t end = 0;
    while (end < ends.size() && ends[end] < sizes[a]) ++end;
    if (end == ends.size()) return nullptr;
    position += end * stride, stride *= ends.size();
  }
  return &cells[position];
}

Choices choices_of(const Options& options, const std::function<void(std::size_t done, std::size_t all)>& progress) {
  Choices out{.sweep = read_sweep(options), .cells = {}, .list = {}, .checks = {}};
  refuse_what_has_no_table(options, out.sweep);
  out.tolerance = tolerance_of(options);
  const std::int64_t checks = options.integer("checks", 0, 100'000).value_or(20);
  const std::size_t all = cells_of(out.sweep) + static_cast<std::size_t>(checks);
  Chooser chooser(out);
  std::vector<std::size_t> at(out.sweep.axes.size(), 0);
  for (std::size_t digit = 0; digit < at.size();) {
    out.cells.push_back(chooser.cell(at));
    if (progress) progress(out.cells.size(), all);
    for (digit = 0; digit < at.size() && ++at[digit] == out.sweep.axes[digit].values.size(); ++digit) at[digit] = 0;
  }
  for (TileChoice& choice : out.list) chooser.everywhere(choice);
  std::mt19937_64 random(1);
  double sum = 0;
  for (std::int64_t i = 0; i < checks; ++i) {
    chooser.check(random, sum);
    if (progress) progress(out.cells.size() + static_cast<std::size_t>(i) + 1, all);
  }
  const std::int64_t judged = out.checks.points - out.checks.cannot_run;
  out.checks.mean_loss = judged > 0 ? sum / static_cast<double>(judged) : 0;
  return out;
}

std::vector<OptionSpec> choices_options() {
  std::vector<OptionSpec> specs{
      {"emit",
       "instead of the tiles of one point: the best tile by ranges of --axis, as JSON or as a header for C and C++",
       Value::choice,
       {"json", "header"}},
      {"tolerance",
       "with --emit: largest loss in percent that is accepted before a further tile is added to the table (default 0)"},
      {"checks", "of --emit: sizes inside the ranges where the choice is set against a search (default 20)",
       Value::count}};
  for (const OptionSpec& spec : sweep_axis_options())
    if (spec.name == "axis" || spec.name == "yes") specs.insert(specs.begin(), spec);
  return specs;
}

}  // namespace tilescope
