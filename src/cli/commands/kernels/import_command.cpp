// import: records from files of other tools.
#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/input/import_options.h"
#include "cli/output/launches/import_columns.h"
#include "compare/comparison_columns.h"
#include "records/record_lines.h"

namespace tilescope::cli {
namespace {

using imported::Imported;

std::string found_text(const Imported& all, const Style& style) {
  std::string out =
      render(table_of(fmt::format("{}: {} launches", properties(all.file.form).title, all.file.launches.size()),
                      import_columns(), imported_rows(all.file, all.runs)),
             style);
  for (const std::string& note : all.file.notes) out += note + "\n";
  return out + fmt::format("{} point{}{}\n", all.records.size(), all.records.size() == 1 ? "" : "s",
                           all.hardware.empty() ? "" : fmt::format(" on {}", all.hardware));
}

Json found_json(const Imported& all) {
  return {{"schema", "tilescope/import/1"},
          {"file", all.file.path},
          {"form", to_string(all.file.form)},
          {"hardware", all.hardware.empty() ? Json(nullptr) : Json(all.hardware)},
          {"launches", all.file.launches.size()},
          {"found", objects_of(import_columns(), imported_rows(all.file, all.runs))},
          {"notes", all.file.notes},
          {"points", all.records.size()}};
}

ExitStatus import(const Arguments& arguments) {
  if (arguments.positional().empty())
    refuse("import", "is incomplete: name a PyTorch trace, an nsys SQLite export, CSV of ncu or measurements in YAML");
  const Imported all = read_imported(arguments, arguments.positional().front());
  const auto records = arguments.text("records");
  if (records && all.records.empty())
    refuse("--records", "no launch was recognised, so there is no record; the command without --records says why");
  if (records) write_file(*records, validate::to_lines(all.records));
  const Style style = style_of(arguments);
  const bool validates = arguments.has("validate") || arguments.has("experiment");
  std::optional<Comparison> comparison;
  if (validates && !all.records.empty()) comparison = compare_imported(arguments, all.records);
  if (style.format == OutputFormat::json) {
    Json document = found_json(all);
    if (comparison) document["comparison"] = to_json(*comparison);
    deliver(arguments, document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    std::string text = found_text(all, style);
    if (comparison)
      text += "\n" + render(table_of("predicted beside measured", comparison_columns(), comparison->rows), style);
    deliver(arguments, text);
  }
  if (all.records.empty()) return ExitStatus::answer_no;
  return comparison && arguments.has("experiment") && !comparison->passed() ? ExitStatus::answer_no : ExitStatus::done;
}

std::vector<OptionSpec> import_options() {
  return std::vector<OptionSpec>{
             {"records", "write the records to this file, JSON Lines", Value::output_file},
             {"validate", "also print predicted beside measured", Value::flag},
             {"experiment", "the same, judged by the tolerances of this experiment file", Value::file}} +
         tool_file_options() + output_options();
}

}  // namespace

Command import_command() {
  return {
      .name = "import",
      .summary = "make records from a PyTorch trace, an nsys SQLite export, CSV of ncu or YAML",
      .usage = "FILE [--records FILE] [--validate] [--point \"NAME=VALUE ...\"]",
      .examples = {"tilescope import trace.json.gz --validate",
                   "tilescope import ncu.csv --hardware h100_sxm --point \"batch=2 heads_q=16 q_len=2k head_dim=128 "
                   "mask=causal dtype=bf16\" --records records.jsonl",
                   "tilescope validate --recorded records.jsonl --experiment tolerances.yaml"},
      .notes =
          "A PyTorch trace made with record_shapes=True says which point each launch is. For ncu and nsys --point "
          "says it. What the tool did not measure is absent from the records. Exit status 1 when no launch is "
          "recognised, or a row exceeds a tolerance of --experiment.",
      .options = import_options,
      .run = import,
      .most_positional = 1};
}

}  // namespace tilescope::cli
