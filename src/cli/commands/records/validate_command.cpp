#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/records/validate_published.h"
#include "cli/input/import_options.h"
#include "cli/input/recorded_options.h"
#include "cli/output/progress.h"
#include "cli/output/version.h"
#include "compare/ablation.h"
#include "compare/comparison_columns.h"
#include "compare/errors.h"
#include "compare/gate/baseline.h"
#include "request/read_point.h"

namespace tilescope::cli {
namespace {

// The rows with what tells those of several GPUs and experiments apart.
Table csv_table(const Comparison& comparison) {
  Columns<ComparisonRow> columns = comparison_columns();
  for (Column<ComparisonRow>& column : columns)
    if (column.key == "experiment" || column.key == "hardware") column.in_text = true, column.title = column.key;
  return table_of("", columns, comparison.rows);
}

Table failed_table(const Comparison& comparison) {
  std::vector<ComparisonRow> failed = comparison.rows;
  std::erase_if(failed, [](const ComparisonRow& row) { return row.verdict != Verdict::fail; });
  return table_of("rows outside their tolerance", comparison_columns(), failed);
}

std::string shared_gpu(const Comparison& comparison) {
  std::size_t count = 0;
  std::string first;
  for (const ComparedRecord& record : comparison.records)
    if (record.other_processes > 0 && ++count == 1) first = record.point;
  if (count == 0) return "";
  return fmt::format("{} points were measured while other programs computed on the GPU; measure them again: {}{}\n",
                     count, first, count > 1 ? ", ..." : "");
}

// Times that other load on the GPU may have moved.
std::string wide_times(const Comparison& comparison) {
  constexpr std::size_t most_named = 4;
  std::vector<std::string> named;
  std::size_t count = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.spread.value_or(0) <= wide_spread) continue;
    if (++count <= most_named)
      named.push_back(fmt::format("{} of {} {:.0f} %", row.label(), row.point, 100 * *row.spread));
  }
  if (count == 0) return "";
  return fmt::format(
      "{} times have samples whose middle half spreads over more than {:.0f} % of the median, as other load on the GPU "
      "makes them; measure again: {}{}\n",
      count, 100 * wide_spread, join(named, ", "), count > most_named ? ", ..." : "");
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
  out += wide_times(comparison) + shared_gpu(comparison);
  if (counts.judged == 0)
    out += "no row has a tolerance: give an experiment file that states tolerances, as --experiment FILE\n";
  return out + (failed.rows.empty() ? "" : "\n" + render(failed, style));
}

// Published tables are measurements too.
std::vector<PublishedResult> published_results(const Arguments& arguments) {
  if (const auto file = arguments.text("published-rows")) return read_published_results(*file);
  return compare_published(validate::read_published((data_directory() / "validate" / "published").string()),
                           data_directory(), RatesFrom::stated, threads_of(arguments));
}

void write_errors(const std::string& file, const Comparison& comparison,
                  const std::vector<PublishedResult>& published) {
  write_file(file, to_json(error_bars(observed_errors(comparison, published))).dump(1) + "\n");
}

// What moved since --baseline and, without a verdict, since --since.
struct Changes {
  std::vector<BaselineChange> gated, listed;
};

// With --update-baseline the comparison becomes the baseline.
Changes find_changes(const Arguments& arguments, const Comparison& comparison) {
  const GateSource source{data_directory(), program_version()};
  Changes changes;
  if (const auto file = arguments.text("since"))
    changes.listed = changes_since(read_baseline(*file), comparison, source);
  for (BaselineChange& change : changes.listed) change.verdict = Verdict::info;
  const auto file = arguments.text("baseline");
  if (file && arguments.has("update-baseline"))
    write_file(*file, to_json(baseline_of(comparison, source)).dump(1) + "\n");
  else if (file) changes.gated = changes_since(read_baseline(*file), comparison, source);
  return changes;
}

// Before the records are compared, which takes a while.
void check_baseline_options(const Arguments& arguments) {
  const auto file = arguments.text("baseline");
  if (arguments.has("update-baseline") && !file) refuse("--update-baseline", "needs --baseline FILE to write to");
  if (file && arguments.has("update-baseline")) check_writable_file(*file);
  else if (file) read_baseline(*file);
  if (const auto since = arguments.text("since")) read_baseline(*since);
}

std::string junit_of(const Arguments& arguments, const Comparison& comparison,
                     const std::vector<BaselineChange>& changes) {
  const std::string records = to_junit(comparison);
  if (!arguments.has("baseline") || arguments.has("update-baseline")) return records;
  const std::size_t head = records.find('\n') + 1;  // <?xml ...?>
  return records.substr(0, head) + "<testsuites>\n" + records.substr(head) + to_junit(changes, comparison.rows.size()) +
         "</testsuites>\n";
}

std::string moved_text(const std::string& since, const std::vector<BaselineChange>& changes, const Style& style) {
  if (changes.empty()) return fmt::format("\nno row moved since {}\n", since);
  return "\n" + render(table_of("moved since " + since, baseline_columns(), changes), style);
}

std::string baseline_text(const Arguments& arguments, const Changes& changes, const Style& style) {
  std::string text;
  if (const auto file = arguments.text("baseline"))
    text += arguments.has("update-baseline") ? fmt::format("\nthe baseline {} was written\n", *file)
                                             : moved_text("the baseline " + *file, changes.gated, style);
  if (const auto file = arguments.text("since"))
    text += moved_text(std::filesystem::path(*file).filename().string() + " (listed only)", changes.listed, style);
  return text;
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
  if (!file)
    return compare_recorded(arguments, Keep::rows, Progress(arguments, "comparing records").callback(),
                            arguments.has("baseline") ? Tolerances::if_any : Tolerances::wanted);
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
  const Changes changes = find_changes(arguments, comparison);
  if (const auto junit = arguments.text("junit")) write_file(*junit, junit_of(arguments, comparison, changes.gated));
  if (const auto markdown = arguments.text("markdown")) {
    const Style md{.format = OutputFormat::md};
    write_file(*markdown, safe_markdown(many_lines(summary_text(comparison, regrets, md) + notes +
                                                   baseline_text(arguments, changes, md))));
  }
  if (const auto errors = arguments.text("errors")) write_errors(*errors, comparison, published_results(arguments));
  const Style style = style_of(arguments);
  if (style.format == OutputFormat::json) {
    Json json = to_json(comparison);
    if (arguments.has("baseline")) json["baseline"] = objects_of(baseline_columns(), changes.gated);
    if (arguments.has("since")) json["since"] = objects_of(baseline_columns(), changes.listed);
    deliver(arguments, json.dump(1) + "\n");
  } else if (style.format == OutputFormat::csv) deliver(arguments, render(csv_table(comparison), style));
  else deliver(arguments, summary_text(comparison, regrets, style) + notes + baseline_text(arguments, changes, style));
  const bool good_search =
      std::all_of(regrets.begin(), regrets.end(), [](const SearchRegret& regret) { return regret.within_bar; });
  return within_tolerances(arguments, comparison) && good_search && passes(changes.gated) ? ExitStatus::done
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
             {"since", "also list what moved since this stored comparison, of another branch; no exit status",
              Value::file},
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
