// sweep: the cross product of axes, one prediction a line, streamed so that memory does not grow with the points.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/input/answer.h"
#include "cli/input/sweep_axes.h"
#include "cli/output/progress.h"
#include "predict/explain/labels.h"
#include "predict/point/support.h"
#include "predict/predict.h"

namespace tilescope::cli {
namespace {

// What the points of a sweep share.
struct Sweep {
  Plan plan;
  HardwareProfile hardware;
  std::vector<SweepAxis> axes;
  Point base;
  bool tile_fixed = false;
  std::map<std::string, JsonOptions> errors;  // by regime
  std::vector<PredictionColumn> columns;      // of CSV, text and Markdown
};

// A default tile that cannot run at the first point would make an empty sweep: the best tile of that point takes its
// place.
void replace_unfit_tile(const Arguments& arguments, Sweep& sweep) {
  const bool swept = std::any_of(sweep.axes.begin(), sweep.axes.end(),
                                 [](const SweepAxis& axis) { return axis.tile >= 0 || axis.warps; });
  if (!sweep.plan.assumed || sweep.tile_fixed || swept) return;
  Prediction prediction;
  SearchResult result;
  try {
    predict(sweep.plan, sweep.hardware, sweep.base, prediction);
    if (prediction.feasible || !prediction.runnable) return;
    result = search_tiles(sweep.plan, sweep.hardware, sweep.base, search_options(arguments, sweep.plan));
  } catch (const CountOverflow&) {
    return;  // the point says so itself, with its place
  }
  if (result.feasible.empty()) return;
  const Point& best = result.feasible.front().point;
  if (!arguments.quiet())
    print_note(
        fmt::format("note: the default tile {} cannot run here; every point takes {}, the best of the first point",
                    tile_label(sweep.plan, sweep.base), tile_label(sweep.plan, best)));
  sweep.base.tiles = best.tiles, sweep.base.warps = best.warps;
}

Sweep read_sweep(const Arguments& arguments) {
  Sweep sweep{.plan = read_plan(arguments),
              .hardware = read_hardware(arguments),
              .axes = {},
              .base = {},
              .tile_fixed = tile_given(arguments),
              .errors = {},
              .columns = {}};
  sweep.axes = read_axes(arguments, sweep.plan);
  Arguments first = arguments;
  for (const auto& [option, value] : options_of_first_values(sweep.axes, arguments)) first = first.with(option, value);
  sweep.base = read_point(first, sweep.plan);
  for (const char* regime : {"short", "memory", "compute", "spills"}) {
    sweep.errors[regime] = recorded_errors(sweep.plan, sweep.hardware, regime);
    sweep.errors[regime].terms = false;
  }
  sweep.columns = columns_at(prediction_columns(sweep.plan), shown::csv);
  replace_unfit_tile(arguments, sweep);
  if (const std::string reason = unsupported_on(sweep.plan, sweep.hardware); !reason.empty())
    refuse("--kernel", reason);
  return sweep;
}

// One point's JSON object, of one line.
std::string json_line(const Sweep& sweep, const Point& point, const Prediction& prediction,
                      const std::vector<std::string>& unsupported_for) {
  const Json object = unsupported_for.empty() ? to_json(sweep.plan, sweep.hardware, point, prediction,
                                                        sweep.errors.at(regime_of(prediction)))
                                              : Json{{"schema", "tilescope/prediction/1"},
                                                     {"point", point_json(sweep.plan, sweep.hardware.id, point)},
                                                     {"feasible", false},
                                                     {"unsupported", unsupported_for}};
  return object.dump() + "\n";
}

// Prints points as they come; text and Markdown are collected, because their columns' widths depend on all rows.
class SweepWriter {
 public:
  SweepWriter(const Arguments& arguments, const Sweep& sweep, OutputFormat format)
      : arguments_(arguments), sweep_(sweep), format_(format), output_(arguments) {
    for (const PredictionColumn& column : sweep.columns) table_.columns.push_back(column.key);
    if (format == OutputFormat::csv) output_.write(join(table_.columns, ",") + "\n");
  }
  // `prediction` is null for a point that the kernel does not support.
  void write(const Point& point, const Prediction* prediction, const std::vector<std::string>& unsupported_for) {
    if (format_ == OutputFormat::json)
      return output_.write(json_line(sweep_, point, prediction ? *prediction : Prediction{}, unsupported_for));
    static const JsonOptions none;
    std::vector<Json> cells;
    for (const PredictionColumn& column : sweep_.columns)
      cells.push_back(cell(column, {sweep_.plan, sweep_.hardware, point, prediction, none}));
    if (format_ == OutputFormat::csv) output_.write(csv_line(cells));
    else table_.rows.push_back(std::move(cells));
  }
  // Lines appear on the terminal as they come, where a progress bar would be in their way.
  bool prints_at_once() const {
    return (format_ == OutputFormat::csv || format_ == OutputFormat::json) && !arguments_.has("output") &&
           ::isatty(STDOUT_FILENO);
  }
  void commit() {
    if (format_ == OutputFormat::text || format_ == OutputFormat::md)
      deliver(arguments_, render(table_, style_of(arguments_)));
    else output_.commit();
  }

 private:
  const Arguments& arguments_;
  const Sweep& sweep_;
  OutputFormat format_;
  Output output_;
  Table table_;
};

std::size_t points_of(const Sweep& sweep) {
  std::size_t count = 1;
  for (const SweepAxis& axis : sweep.axes)
    if (__builtin_mul_overflow(count, axis.values.size(), &count)) return 0;
  return count;
}

// Predicts every point; whether any can run.
bool write_points(const Sweep& sweep, SweepWriter& writer, Progress& progress) {
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
      writer.write(point, reasons.empty() ? &prediction : nullptr, reasons);
    } catch (const CountOverflow& overflow) {
      refuse("--axis", fmt::format("at {}: {}", place(sweep.axes, at), overflow.what()));
    }
    any_feasible = any_feasible || (reasons.empty() && prediction.feasible);
    progress.at(++done, all);
    for (digit = 0; digit < at.size() && ++at[digit] == sweep.axes[digit].values.size(); ++digit) at[digit] = 0;
  }
  return any_feasible;
}

ExitStatus sweep_points(const Arguments& arguments) {
  const Sweep sweep = read_sweep(arguments);
  SweepWriter writer(arguments, sweep, arguments.has("format") ? arguments.format() : OutputFormat::csv);
  bool any_feasible = false;
  {
    Progress progress(arguments, "sweep", !writer.prints_at_once());
    any_feasible = write_points(sweep, writer, progress);
  }
  writer.commit();
  return any_feasible ? ExitStatus::done : ExitStatus::answer_no;
}

std::vector<OptionSpec> sweep_options() {
  auto output = output_options();
  output.front().help = "csv (default), json (one object a line), text or md";
  return point_options() +
         std::vector<OptionSpec>{
             {"axis", "NAME=FIRST:LAST:xFACTOR, NAME=FIRST:LAST:+STEP or NAME=A,B,C; repeat to cross"}} +
         output;
}

}  // namespace

Command sweep_command() {
  return {.name = "sweep",
          .summary = "many points, a row each: CSV, JSON Lines, text or Markdown",
          .usage = "--axis NAME=VALUES [--axis ...] --hardware ID ...",
          .examples = {"tilescope sweep --axis seqlen=1k:128k:x2 --axis tile_kv=32,64,128 --hardware h200_sxm "
                       "--heads 16 --format csv -o sweep.csv"},
          .notes =
              "A size follows another as with the options: heads_q sets heads_kv too, q_len kv_len, head_dim "
              "v_head_dim, unless given.\n"
              "Without --tile or a tile axis every point keeps the default tile, or the best tile of the first "
              "point where that one cannot run; tilescope search finds better ones.\n"
              "Exit status 1 when no point can run.",
          .options = sweep_options,
          .run = sweep_points};
}

}  // namespace tilescope::cli
