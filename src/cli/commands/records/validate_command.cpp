#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/records/validate_published.h"
#include "cli/input/import_options.h"
#include "cli/input/recorded_options.h"
#include "cli/output/progress.h"
#include "compare/ablation.h"
#include "compare/comparison_columns.h"
#include "compare/errors.h"
#include "compare/gate/baseline.h"
#include "request/read_point.h"

namespace tilescope::cli {
namespace {

Table row_table(const Comparison& comparison) { return table_of("", comparison_columns(), comparison.rows); }

Table failed_table(const Comparison& comparison) {
  std::vector<ComparisonRow> failed = comparison.rows;
  std::erase_if(failed, [](const ComparisonRow& row) { return row.verdict != Verdict::fail; });
  return table_of("rows outside their tolerance", comparison_columns(), failed);
}

std::string summary_text(const Comparison& comparison, const std::vector<SearchRegret>& regrets, const Style& style) {
  const Table failed = failed_table(comparison);
  const std::string title =
      fmt::format("{} points: relative error of the prediction, by kernel and quantity", comparison.records.size());
  std::string out = render(table_of(title, summary_columns(), comparison.summary), style) + "\n";
  for (const Calibration& part : calibration(observed_errors(comparison, {})))
    out += fmt::format(
        "{} on {}: {} of {} blind points ({:.0f} %) lie within the p90 that all other records state ({} of them "
        "borrowed)\n",
        part.quantity, part.hardware, part.held, part.n, 100 * part.share(), part.borrowed);
  for (const SearchRegret& regret : regrets)
    out += fmt::format(
        "search regret of {} on {}: {:.2f} % (geometric mean of {} workloads, {} tiles), worst {:.2f} % ({}){}\n",
        regret.kernel, regret.hardware, 100 * regret.mean, regret.workloads, regret.tiles, 100 * regret.worst,
        regret.worst_workload, regret.within_bar ? "" : ": over the bar of 5 %");
  const RowCounts counts = counts_of(comparison.rows);
  out += fmt::format("{} rows have a tolerance, {} of them exceed it; {} rows have none\n",
                     with_thousands(static_cast<long long>(counts.judged)), counts.failed,
                     with_thousands(static_cast<long long>(counts.shown)));
  if (!comparison.skipped.empty())
    out += "\n" + render(table_of("not judged: records outside the sizes for which their kernel is launched",
                                  skipped_columns(), comparison.skipped),
                         style);
  if (counts.judged == 0)
    out += "no row has a tolerance: give an experiment file that states tolerances, as --experiment FILE\n";
  return out + (failed.rows.empty() ? "" : "\n" + render(failed, style));
}

// Published tables are measurements too.
std::vector<PublishedResult> published_results(const Arguments& arguments) {
  if (const auto file = arguments.text("published-rows")) return read_published_results(*file);
  return compare_published(validate::read_published((data_directory() / "validate" / "published").string()),
                           data_directory());
}

void write_errors(const std::string& file, const Comparison& comparison,
                  const std::vector<PublishedResult>& published) {
  write_file(file, to_json(error_bars(observed_errors(comparison, published))).dump(1) + "\n");
}

// What moved since --baseline; nothing without one. With --update-baseline the comparison becomes the baseline.
std::vector<BaselineChange> baseline_changes(const Arguments& arguments, const Comparison& comparison) {
  const auto file = arguments.text("baseline");
  if (!file) return {};
  if (arguments.has("update-baseline")) {
    write_file(*file, to_json(baseline_of(comparison, data_directory())).dump(1) + "\n");
    return {};
  }
  return changes_since(read_baseline(*file), comparison, data_directory());
}

// Before the records are compared, which takes a while.
void check_baseline_options(const Arguments& arguments) {
  const auto file = arguments.text("baseline");
  if (arguments.has("update-baseline") && !file) refuse("--update-baseline", "needs --baseline FILE to write to");
  if (file && arguments.has("update-baseline")) check_writable_file(*file);
  else if (file) read_baseline(*file);
}

std::string junit_of(const Arguments& arguments, const Comparison& comparison,
                     const std::vector<BaselineChange>& changes) {
  const std::string records = to_junit(comparison);
  if (!arguments.has("baseline") || arguments.has("update-baseline")) return records;
  const std::size_t head = records.find('\n') + 1;  // <?xml ...?>
  return records.substr(0, head) + "<testsuites>\n" + records.substr(head) + to_junit(changes, comparison.rows.size()) +
         "</testsuites>\n";
}

std::string baseline_text(const Arguments& arguments, const std::vector<BaselineChange>& changes, const Style& style) {
  if (!arguments.has("baseline")) return "";
  const std::string file = *arguments.text("baseline");
  if (arguments.has("update-baseline")) return fmt::format("\nthe baseline {} was written\n", file);
  if (changes.empty()) return fmt::format("\nno row moved since the baseline {}\n", file);
  return "\n" + render(table_of(fmt::format("moved since the baseline {}", file), baseline_columns(), changes), style);
}

// Without a tolerance and with a baseline, the baseline alone decides.
bool within_tolerances(const Arguments& arguments, const Comparison& comparison) {
  return comparison.passed() || (arguments.has("baseline") && counts_of(comparison.rows).judged == 0);
}

// Options that only say how to read another tool's file.
void check_import_options(const Arguments& arguments) {
  if (arguments.has("import")) {
    if (arguments.has("recorded")) refuse("--recorded", "is for records; --import FILE takes their place");
    return;
  }
  for (const OptionSpec& option : tool_file_options())
    if (arguments.has(option.name)) refuse("--" + option.name, "is for --import FILE; records state this themselves");
}

// Records or another tool's file; `notes`: what the reader of the comparison must know of the file.
Comparison compared(const Arguments& arguments, std::string& notes) {
  const auto file = arguments.text("import");
  if (!file) return compare_recorded(arguments, Keep::rows, Progress(arguments, "comparing records").callback());
  const imported::Imported all = read_imported(arguments, *file);
  if (all.records.empty())
    refuse("--import", fmt::format("no launch of {} is recognised; tilescope import FILE says why, launch by launch",
                                   shown_text(*file)));
  for (const std::string& note : all.file.notes) notes += note + "\n";
  return compare_imported(arguments, all.records);
}

// What each mechanism is worth, or each engine by kernel.
ExitStatus validate_ablations(const Arguments& arguments) {
  const bool engines = arguments.text("engine") == each_choice;
  for (const char* other : {"baseline", "junit", "markdown"})
    if (arguments.has(other)) refuse(fmt::format("--{}", other), "is not for --without each and --engine each");
  std::vector<AblationRow> rows =
      ablations(recorded_directory(arguments), data_directory(), engines ? Ablations::engines : Ablations::mechanisms,
                Progress(arguments, "comparing records").callback());
  const Style style = style_of(arguments);
  if (style.format == OutputFormat::json) {
    deliver(arguments,
            Json{{"schema", "tilescope/ablation/1"}, {"rows", objects_of(ablation_columns(), rows)}}.dump(1) + "\n");
    return ExitStatus::done;
  }
  if (!engines) std::erase_if(rows, [](const AblationRow& row) { return row.kernel != "all"; });
  deliver(arguments, render(table_of("errors by choice of the time model", ablation_columns(), rows), style));
  return ExitStatus::done;
}

ExitStatus validate_records(const Arguments& arguments) {
  for (const char* option : {"without", "engine"})
    for (const char* other : {"import", "published", "errors", "update-baseline"})
      if (arguments.has(option) && arguments.has(other))
        refuse(fmt::format("--{}", option), fmt::format("is for records, not for --{}", other));
  if (arguments.text("without") == each_choice || arguments.text("engine") == each_choice)
    return validate_ablations(arguments);
  if (arguments.has("published")) return validate_published(arguments);
  check_baseline_options(arguments);
  check_import_options(arguments);
  if (arguments.has("published-rows") && !arguments.has("errors"))
    refuse("--published-rows", "is for --errors FILE; leave it out");
  std::string notes;
  const Comparison comparison = compared(arguments, notes);
  const std::vector<SearchRegret> regrets = search_regret(comparison);
  // Writes files before standard output, because the reader of standard output may close it early.
  const std::vector<BaselineChange> changes = baseline_changes(arguments, comparison);
  if (const auto junit = arguments.text("junit")) write_file(*junit, junit_of(arguments, comparison, changes));
  if (const auto markdown = arguments.text("markdown")) {
    const Style md{.format = OutputFormat::md};
    write_file(*markdown, summary_text(comparison, regrets, md) + notes + baseline_text(arguments, changes, md));
  }
  if (const auto errors = arguments.text("errors")) write_errors(*errors, comparison, published_results(arguments));
  const Style style = style_of(arguments);
  if (style.format == OutputFormat::json) {
    Json json = to_json(comparison);
    if (arguments.has("baseline")) json["baseline"] = objects_of(baseline_columns(), changes);
    deliver(arguments, json.dump(1) + "\n");
  } else if (style.format == OutputFormat::csv) deliver(arguments, render(row_table(comparison), style));
  else deliver(arguments, summary_text(comparison, regrets, style) + notes + baseline_text(arguments, changes, style));
  const bool good_search =
      std::all_of(regrets.begin(), regrets.end(), [](const SearchRegret& regret) { return regret.within_bar; });
  return within_tolerances(arguments, comparison) && good_search && passes(changes) ? ExitStatus::done
                                                                                    : ExitStatus::answer_no;
}

std::vector<OptionSpec> validate_options() {
  return recorded_options() +
         std::vector<OptionSpec>{
             {"import", "instead of records: a PyTorch trace, SQLite of nsys, CSV of ncu or measurements in YAML",
              Value::file},
             {"junit", "also write JUnit XML to this file", Value::output_file},
             {"markdown", "also write the summary as Markdown to this file", Value::output_file},
             {"baseline", "fail also where a row got worse since this stored comparison", Value::file},
             {"update-baseline", "store this comparison as the --baseline instead", Value::flag},
             {"errors", "also write the time errors by GPU and kernel that predict prints (validate/errors.json)",
              Value::output_file},
             {"published-rows",
              "for --errors: published times as --published prints them with --format json (default: they are "
              "predicted "
              "again)",
              Value::file},
             {"published", "compare instead with published times: a directory of tables (validate/published)",
              Value::directory},
             {"basis", "rates of the GPUs: stated (default), or derived by rules, to measure the error of the rules",
              Value::choice, kind_names<RatesFrom>()}} +
         time_model_options() + tool_file_options() + output_options();
}

}  // namespace

Command validate_command() {
  return {
      .name = "validate",
      .summary = "compare predictions with records, with tolerances",
      .usage = "[--recorded DIRECTORY] [--experiment FILE] | --import FILE | --published DIRECTORY",
      .examples =
          {"tilescope validate",
           "tilescope validate --recorded my_records --format json -o comparison.json --junit junit.xml",
           "tilescope validate --recorded my_records --baseline baseline.json",
           "tilescope validate --import ncu.csv --hardware h100_sxm --point \"name=flash_fwd batch=2 heads_q=16 "
           "q_len=2k head_dim=128 mask=causal dtype=bf16\" --baseline baseline.json",
           "tilescope validate --published validate/published"},
      .notes =
          "Exit status 1 when a row exceeds its tolerance, no row has a tolerance, a published table exceeds its error "
          "limits, or the tiles predicted to be fastest are over 5 % slower than the fastest ones (mean of 12 or "
          "more workloads of a kernel). With --baseline also when a count differs from the stored one, when the "
          "error of a time or of counted bytes is worse by 2 points and by 10 %, or when a stored row is gone.",
      .options = validate_options,
      .run = validate_records};
}

}  // namespace tilescope::cli
