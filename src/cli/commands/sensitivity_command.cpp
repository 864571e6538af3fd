// sensitivity: what each number of the GPU is worth for a point.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/input/file_endings.h"
#include "cli/output/prediction_text.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "report/charts/tornado.h"
#include "report/table_page.h"
#include "request/sensitivity/sensitivity.h"

namespace tilescope::cli {
namespace {

constexpr std::size_t most_bars = 20;

std::vector<SensitivityRow> rows_that_matter(const Sensitivity& answer) {
  std::vector<SensitivityRow> rows = answer.rows;
  std::erase_if(rows, [](const SensitivityRow& row) { return !row.matters(); });
  return rows;
}

std::string point_text(const Sensitivity& answer) {
  const Answer& a = answer.unchanged;
  const auto& both = a.prediction.traffic[Boundary::hbm];
  const bool modelled = a.prediction.time.modelled;
  return fmt::format(
      "{} on {}: {}{}, {} of HBM, bound by {}{}",
      a.plan.assumed ? "ideal kernel of schedule " + a.plan.schedule.name : a.plan.kernel.name, a.hardware.id,
      modelled ? "" : "at least ", with_si(a.prediction.time.total, "s"),
      with_si(static_cast<double>(both[0] + both[1]), "B"), to_string(a.prediction.time.bound_by),
      modelled ? "" : "; a lower bound: the slowest resource at the highest rate that the profile states");
}

std::string rest_text(const Sensitivity& answer, std::size_t shown) {
  return fmt::format("{} of {} numbers change the time or the bytes of HBM by 0.05 % or more. {}",
                     rows_that_matter(answer).size(), answer.rows.size(),
                     answer.retiled ? "Each changed GPU has its own best tile."
                                    : "The tile is that of the unchanged GPU; --retile searches one for each.") +
         (shown < rows_that_matter(answer).size() ? fmt::format(" The first {} are shown.", shown) : "");
}

report::Tornado tornado_of(const Sensitivity& answer) {
  report::Tornado chart{.title = "What each number of the GPU is worth",
                        .subtitle = point_text(answer),
                        .down_name = fmt::format("-{} %", answer.percent),
                        .up_name = fmt::format("+{} %", answer.percent),
                        .bars = {}};
  for (const SensitivityRow& row : rows_that_matter(answer)) {
    if (chart.bars.size() == most_bars) break;
    const auto side = [&](const ChangedPoint& changed) {
      return changed.runs ? std::optional(row.time_change(changed)) : std::nullopt;
    };
    const std::string reason = row.down.reason.empty() ? row.up.reason : row.down.reason;
    chart.bars.push_back({.label = row.path,
                          .note = reason.empty() ? row.path : row.path + ": " + reason,
                          .down = side(row.down),
                          .up = side(row.up)});
  }
  return chart;
}

std::string page_of(const Sensitivity& answer) {
  TablePage page{.title = "What each number of the GPU is worth",
                 .meta = point_text(answer),
                 .heading = fmt::format("Changes of {} % each way", answer.percent),
                 .columns = {},
                 .cells = {},
                 .notes = {rest_text(answer, answer.rows.size())},
                 .picture = report::tornado_svg(tornado_of(answer))};
  const auto columns = sensitivity_columns();
  for (const auto& column : columns)
    if (column.in_text) page.columns.push_back({column.title, column.meaning});
  for (const auto& row : text_cells(columns, rows_that_matter(answer))) {
    auto& cells = page.cells.emplace_back();
    for (const Json& cell : row) cells.push_back(shown_cell(cell));
  }
  const auto no_reason = [](const auto& cells) { return cells.back().empty() || cells.back() == "-"; };
  if (std::all_of(page.cells.begin(), page.cells.end(), no_reason)) {
    page.columns.pop_back();
    for (auto& cells : page.cells) cells.pop_back();
  }
  return render_table_page(page, data_directory() / "reports" / "assets");
}

std::string text_of(const Sensitivity& answer, const Style& style) {
  Table table = table_of(fmt::format("change with each number {} % smaller and larger", answer.percent),
                         sensitivity_columns(), rows_that_matter(answer));
  const bool reasons =
      std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) { return row.back() != ""; });
  if (!reasons) {
    table.columns.pop_back();
    for (auto& row : table.rows) row.pop_back();
  }
  return point_text(answer) + "\n\n" + render(table, style) + "\n" + rest_text(answer, answer.rows.size()) + "\n";
}

std::string content_of(const Sensitivity& answer, const Arguments& arguments) {
  const Style style = style_of(arguments);
  const std::string file = arguments.text("output").value_or("");
  if (!answer.unchanged.prediction.feasible && style.format != OutputFormat::json)
    return prediction_text(answer.unchanged, style);
  if (format_of_ending(file) == "svg") return report::tornado_svg(tornado_of(answer));
  if (format_of_ending(file) == "html") return page_of(answer);
  if (style.format == OutputFormat::json) return answer.json().dump(2) + "\n";
  if (style.format != OutputFormat::csv) return text_of(answer, style);
  Table table;
  for (const auto& column : sensitivity_columns()) table.columns.push_back(column.key);
  for (const SensitivityRow& row : answer.rows) {
    auto& cells = table.rows.emplace_back();
    for (const auto& column : sensitivity_columns()) cells.push_back(column.value(row));
  }
  return render(table, style);
}

ExitStatus show_sensitivity(const Arguments& arguments) {
  Sensitivity answer;
  {
    Progress progress(arguments, "sensitivity");
    answer = sensitivity_of(arguments, progress.callback());
  }
  if (!answer.note.empty()) print_note("note: " + answer.note);
  deliver(arguments, content_of(answer, arguments));
  return status_of(answer.unchanged.prediction);
}

std::vector<OptionSpec> options_of_sensitivity() { return sensitivity_options() + output_options(); }

}  // namespace

Command sensitivity_command() {
  return {.name = "sensitivity",
          .summary = "change of the predicted time when each rate, capacity or limit of the GPU changes",
          .usage = "--hardware ID [--kernel NAME | --schedule NAME] --q-len N ... [--step PERCENT]",
          .examples = {"tilescope sensitivity --hardware h200_sxm --kernel fused_mma --heads 16 --q-len 4k --head-dim "
                       "128 --mask causal",
                       "tilescope sensitivity --hardware l40s --workload llama3-70b-decode --schedule split-kv "
                       "--numbers levels,compute --step 50 -o what_if.svg"},
          .notes =
              "Each row equals two runs of `predict --set NUMBER=-20%` and `+20%`. -o FILE.svg writes a tornado "
              "chart, -o FILE.html a page with the chart and the table. Text, Markdown and pages show numbers that "
              "change something; CSV and JSON show all. Exit status 1 when the unchanged point cannot run.",
          .options = options_of_sensitivity,
          .run = show_sensitivity};
}

}  // namespace tilescope::cli
