// sweep: predicts the cross product of axes. Prints one line per point at once, so memory does not grow with the
// points.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/output/progress.h"
#include "request/sweep.h"

namespace tilescope::cli {
namespace {

// All columns of a sweep, or those that --columns names, in its order.
std::vector<PredictionColumn> chosen_columns(const Arguments& arguments, const Sweep& sweep) {
  const std::vector<PredictionColumn> all = columns_at(prediction_columns(sweep.tiles()), shown::csv);
  const auto given = arguments.text("columns");
  if (!given) return all;
  if (arguments.has("format") && arguments.format() == OutputFormat::json)
    refuse("--columns", "chooses columns of text, csv and md; leave it out for json");
  std::vector<std::string> names;
  for (const PredictionColumn& column : all) names.push_back(column.key);
  std::vector<PredictionColumn> chosen;
  for (const std::string& name : split(*given, ',')) {
    const auto found = std::find(names.begin(), names.end(), trimmed(name));
    if (found == names.end())
      refuse("--columns",
             fmt::format("no column of sweep is called {}{}", shown_text(name), did_you_mean(name, names)));
    chosen.push_back(all[static_cast<std::size_t>(found - names.begin())]);
  }
  return chosen;
}

// Prints each point at once. Text and Markdown are collected first, because column widths depend on all rows.
class SweepWriter {
 public:
  SweepWriter(const Arguments& arguments, const Sweep& sweep, OutputFormat format)
      : arguments_(arguments), format_(format), output_(arguments), columns_(chosen_columns(arguments, sweep)) {
    for (const PredictionColumn& column : columns_) table_.columns.push_back(column.key);
    if (format == OutputFormat::csv) output_.write(join(table_.columns, ",") + "\n");
  }
  // `prediction` is null for a point that the kernel does not support.
  void write(const Sweep& of, const Point& point, const Prediction* prediction,
             const std::vector<std::string>& unsupported_for) {
    if (format_ == OutputFormat::json)
      return output_.write(sweep_object(of, point, prediction, unsupported_for).dump() + "\n");
    static const JsonOptions none;
    std::vector<Json> cells;
    for (const PredictionColumn& column : columns_)
      cells.push_back(cell(column, {of.plan, of.hardware, point, prediction, none,
                                    of.chosen_by.empty() ? "" : join(unsupported_for, "; ")}));
    if (format_ == OutputFormat::csv) output_.write(csv_line(cells));
    else table_.rows.push_back(std::move(cells));
  }
  // True if lines go to the terminal one by one. A progress bar would disturb them.
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
  OutputFormat format_;
  Output output_;
  std::vector<PredictionColumn> columns_;
  Table table_;
};

ExitStatus sweep_points(const Arguments& arguments) {
  const Sweep sweep = read_sweep(arguments);
  SweepWriter writer(arguments, sweep, arguments.has("format") ? arguments.format() : OutputFormat::csv);
  bool any_feasible = false;
  {
    Progress progress(arguments, "sweep", !writer.prints_at_once());
    any_feasible = each_point(
        sweep,
        [&](const Sweep& of, const Point& point, const Prediction* prediction,
            const std::vector<std::string>& unsupported) { writer.write(of, point, prediction, unsupported); },
        progress.callback());
  }
  writer.commit();
  return any_feasible ? ExitStatus::done : ExitStatus::answer_no;
}

std::vector<OptionSpec> sweep_options() {
  auto output = output_options();
  output.front().help = "csv (default), json (one object a line), text or md";
  return point_options() + sweep_axis_options() +
         std::vector<OptionSpec>{
             {"columns", "columns to print, in this order, as in q_len,memory_bytes (default: all)"}} +
         output;
}

}  // namespace

Command sweep_command() {
  return {
      .name = "sweep",
      .summary = "predict many points, one row each: CSV, JSON Lines, text or Markdown",
      .usage = "--axis NAME=VALUES [--axis ...] --hardware ID ...",
      .examples = {"tilescope sweep --axis seqlen=1k:128k:x2 --axis tile_kv=32,64,128 --hardware h200_sxm "
                   "--heads 16 --format csv -o sweep.csv"},
      .notes =
          "As with the options, heads_q also sets heads_kv, q_len also sets kv_len, and head_dim also sets v_head_dim, "
          "unless they are given.\n"
          "Without --tile or a tile axis every point has the tile that tilescope search ranks first. With --tile "
          "first every point has the best tile of the first point. --l2 closed is much faster than the walk.\n"
          "Exit status 1 when no point can run.",
      .options = sweep_options,
      .run = sweep_points};
}

}  // namespace tilescope::cli
