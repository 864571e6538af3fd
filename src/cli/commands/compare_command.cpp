#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "request/compared.h"

namespace tilescope::cli {
namespace {

// "batch 64, heads_q 64, ..., mask none": what all rows share of the question.
std::string shape_text(const Json& shape, bool sized_by_workload) {
  std::vector<std::string> parts;
  for (const std::string group : {"workload", "sizes"})
    if ((group != "workload" || sized_by_workload) && shape.contains(group) && shape[group].is_object())
      for (const auto& [key, value] : shape[group].items()) parts.push_back(key + " " + shown_cell(value));
  for (const char* key : {"mask", "pass"})
    if (shape.contains(key) && shape[key].is_string())
      parts.push_back(fmt::format("{} {}", key, shape[key].get<std::string>()));
  return join(parts, ", ");
}

// The table for readers: columns without a value are left out, and texts that all rows share stand above it.
Table readable(const Compared& answer) {
  const std::vector<std::string> keys = compared_keys();
  Table table{.title = "", .columns = {}, .rows = std::vector<std::vector<Json>>(answer.rows.size())};
  std::vector<std::string> shared;
  for (std::size_t c = 0; c < keys.size(); ++c) {
    const Json& first = answer.rows.front()[c];
    const auto all_rows = [&](auto&& holds) {
      return std::all_of(answer.rows.begin(), answer.rows.end(), [&](const auto& row) { return holds(row[c]); });
    };
    if (keys[c] == "outside" || all_rows([](const Json& cell) { return cell.is_null() || cell == ""; })) continue;
    if (first.is_string() && answer.rows.size() > 1 && all_rows([&](const Json& cell) { return cell == first; })) {
      shared.push_back(fmt::format("{} {}", keys[c], first.get<std::string>()));
      continue;
    }
    table.columns.push_back(keys[c]);
    for (std::size_t r = 0; r < answer.rows.size(); ++r) table.rows[r].push_back(answer.rows[r][c]);
  }
  table.title = "predicted: " + shape_text(answer.shape, answer.sized_by_workload);
  if (!shared.empty()) table.title += "; all rows: " + join(shared, ", ");
  return table;
}

// Which rows are of no kernel that exists.
std::string ideal_text(const Compared& answer) {
  const bool one = answer.ideal.size() == 1;
  return fmt::format("{} {}; use --kernel auto for the fastest described kernel\n", join(answer.ideal, ", "),
                     one ? "is a hypothetical kernel of that schedule" : "are hypothetical kernels of these schedules");
}

ExitStatus compare_points(const Arguments& arguments) {
  Compared answer;
  {
    Progress progress(arguments, "compare");
    answer = compared(arguments, progress.callback());
  }
  const Style style = style_of(arguments);
  switch (style.format) {
    case OutputFormat::json:
      deliver(arguments, answer.json().dump(2) + "\n");
      break;
    case OutputFormat::csv:
      deliver(arguments, render(Table{.title = "", .columns = compared_keys(), .rows = answer.rows}, style));
      break;
    default:
      deliver(arguments, render(readable(answer), style) + (answer.ideal.empty() ? "" : "\n" + ideal_text(answer)));
  }
  return answer.any_time ? ExitStatus::done : ExitStatus::answer_no;
}

std::vector<OptionSpec> options_of_compare() { return compare_options() + output_options(); }

}  // namespace

Command compare_command() {
  return {.name = "compare",
          .summary = "predict GPUs, dtypes and kernels side by side",
          .usage = "--hardware A,B,... --dtype X,Y,... --kernel K,L,... --q-len N ...",
          .examples = {"tilescope compare --hardware h100_sxm,h200_sxm,b200_sxm --dtype fp16,fp8,fp16,kv=int8:g64:b2 "
                       "--workload llama3-70b-decode",
                       "tilescope compare --hardware h200_sxm,l40s --kernel fused_mma,fused_wgmma --q-len 8k --heads "
                       "32 --head-dim 128 --best --sort microseconds"},
          .notes =
              "--hardware, --dtype, --schedule and --kernel take lists by commas, and are crossed; --hardware all is "
              "every shipped "
              "profile. In --dtype a "
              "format without '=' begins the next choice: fp16,kv=fp8,bf16 are two. time_ratio and hbm_ratio are "
              "against the first row that has the number. A row that cannot run says why in no_time, and the "
              "others go on. Exit status 1 when no row has a time, 2 when every row is refused.",
          .options = options_of_compare,
          .run = compare_points};
}

}  // namespace tilescope::cli
