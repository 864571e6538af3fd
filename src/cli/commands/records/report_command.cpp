#include <fmt/format.h>

#include <algorithm>

#include "analysis/family/family.h"
#include "analysis/pictures/pictures.h"
#include "analysis/report/report.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/records/predicted_report.h"
#include "cli/input/launch_input.h"
#include "cli/input/recorded_options.h"
#include "cli/output/progress.h"
#include "compare/recorded.h"
#include "report/report.h"

namespace tilescope::cli {

namespace {

// The GPU of --hardware, or the one with most records.
HardwareProfile hardware_of(const Arguments& arguments, const Comparison& comparison) {
  const auto given = arguments.text("hardware");
  return find_profile(given ? *given : hardware_with_most_records(comparison), data_directory() / "hardware");
}

[[noreturn]] void refuse_without_records(const HardwareProfile& hardware) {
  refuse("--hardware", fmt::format("no record was measured on {}", hardware.id));
}

void keep_records_of(const HardwareProfile& hardware, Comparison& comparison) {
  std::erase_if(comparison.points,
                [&](const ComparedPoint& point) { return point.record.environment.hardware != hardware.id; });
  if (comparison.points.empty()) refuse_without_records(hardware);
}

// Before all records are compared, which takes long.
void check_hardware(const Arguments& arguments) {
  const auto given = arguments.text("hardware");
  if (!given) return;
  const HardwareProfile hardware = find_profile(*given, data_directory() / "hardware");
  bool is_recorded = false;
  validate::for_each_record(recorded_directory(arguments), [&](validate::Record&& record) {
    is_recorded = is_recorded || record.environment.hardware == hardware.id;
  });
  if (!is_recorded) refuse_without_records(hardware);
}

validate::Environment latest_environment(const Comparison& comparison) {
  const auto earlier = [](const ComparedPoint& a, const ComparedPoint& b) {
    return a.record.environment.date < b.record.environment.date;
  };
  return std::max_element(comparison.points.begin(), comparison.points.end(), earlier)->record.environment;
}

std::filesystem::path assets_of(const Arguments& arguments) {
  return arguments.text("assets").value_or(report_asset_directory());
}

analysis::FamilyPage collect_family(const Arguments& arguments, const Comparison& comparison,
                                    const HardwareProfile& hardware) {
  const validate::Environment latest = latest_environment(comparison);
  const Progress progress(arguments, "report: collecting");
  return analysis::family_of(comparison, hardware, latest.revision, latest.date.substr(0, 10));
}

// With pictures of the records of --pictures, else of the report's own.
analysis::Report collect_report(const Arguments& arguments, const Comparison& comparison,
                                const HardwareProfile& hardware) {
  const validate::Environment latest = latest_environment(comparison);
  const Progress progress(arguments, "report: collecting");
  analysis::Report report = analysis::report_of(comparison, hardware, latest.revision, latest.date.substr(0, 10));
  const std::filesystem::path errors = data_directory() / "validate" / "errors.json";
  if (const auto other = arguments.text("pictures")) {
    Comparison pictured = compare_recorded(arguments, *other, Progress(arguments, "comparing records").callback());
    keep_records_of(hardware, pictured);
    analysis::shorten_kernel_names(pictured);
    report.pictures = analysis::pictures_of(pictured, hardware, errors);
  } else {
    report.pictures = analysis::pictures_of(comparison, hardware, errors);
  }
  return report;
}

std::string family_text(const Arguments& arguments, const analysis::FamilyPage& family) {
  switch (arguments.format()) {
    case OutputFormat::json:
      return to_json(family).dump(1) + "\n";
    case OutputFormat::md:
      return render_family_markdown(family);
    case OutputFormat::csv:
      return render_family_csv(family);
    case OutputFormat::text:
      break;
  }
  return render_family_html(family, assets_of(arguments));
}

std::string report_text(const Arguments& arguments, const analysis::Report& report, const Comparison& comparison,
                        const HardwareProfile& hardware) {
  switch (arguments.format()) {
    case OutputFormat::json:
      return to_json(report, comparison, hardware).dump(1) + "\n";
    case OutputFormat::md:
      return render_markdown(report);
    case OutputFormat::csv:
      return render_csv(report);
    case OutputFormat::text:
      break;
  }
  return render_html(report, assets_of(arguments));
}

std::string predicted_text(const Arguments& arguments, const PredictedReport& predicted) {
  switch (arguments.format()) {
    case OutputFormat::json:
      return analysis::to_json(predicted.report, predicted.predictions).dump(1) + "\n";
    case OutputFormat::md:
      return render_markdown(predicted.report);
    case OutputFormat::csv:
      return render_csv(predicted.report);
    case OutputFormat::text:
      break;
  }
  return render_html(predicted.report, assets_of(arguments));
}

// What was captured, recorded elsewhere or imported, beside its predictions. No tolerance judges it.
Comparison compare_launches(const Arguments& arguments, const std::string& place) {
  const TemporaryDirectory scratch("tilescope-report");
  std::vector<validate::Record> records;
  std::vector<std::string> missing;
  for (launches::AttentionLaunches& launch : read_launches(arguments, place, scratch.path()).attention) {
    if (launch.record) records.push_back(std::move(*launch.record));
    else missing.push_back(launch.kernel + ": " + join(launch.missing, "; "));
  }
  if (records.empty())
    refuse("--from",
           missing.empty() ? "no launch looks like attention" : "no launch can be predicted: " + missing.front());
  static const validate::Experiment no_tolerances;
  return compare_records(
      records, data_directory(), [](const std::string&) -> const validate::Experiment& { return no_tolerances; },
      threads_of(arguments));
}

// Options that say something of another one: alone they would be ignored.
void refuse_lone_options(const Arguments& arguments) {
  struct Lone {
    const char *option, *of, *value;
  };
  for (const Lone& lone :
       {Lone{"where", "axis", "NAME=VALUES"}, Lone{"random", "axis", "NAME=VALUES"}, Lone{"seed", "random", "N"},
        Lone{"yes", "axis", "NAME=VALUES"}, Lone{"phase", "model", "CONFIG"}, Lone{"context", "model", "CONFIG"},
        Lone{"chunk", "model", "CONFIG"}, Lone{"speculative", "model", "CONFIG"}, Lone{"tp", "model", "CONFIG"},
        Lone{"point", "from", "FILE"}, Lone{"nvdisasm", "from", "FILE"}})
    if (arguments.has(lone.option) && !arguments.has(lone.of))
      refuse(fmt::format("--{}", lone.option), fmt::format("is of --{} {}; leave it out", lone.of, lone.value));
}

ExitStatus report(const Arguments& arguments) {
  refuse_lone_options(arguments);
  const auto from = arguments.text("from");
  if (from && (arguments.has("recorded") || arguments.has("experiment")))
    refuse("--from", "is a capture or another tool's file; leave out --recorded and --experiment");
  if (from && asks_for_predictions(arguments.without("kernel").without("set")))
    refuse("--from", "is a capture or another tool's file; leave out the options of a point, --axis and --model");
  if (!from && asks_for_predictions(arguments)) {
    for (const char* other : {"recorded", "experiment", "page", "pictures"})
      if (arguments.has(other))
        refuse(fmt::format("--{}", other), "is of a report of records; leave it out, or leave out the point");
    deliver(arguments, predicted_text(arguments, predicted_report(arguments)));
    return ExitStatus::done;
  }
  if (!from) check_hardware(arguments);
  Comparison comparison =
      from ? compare_launches(arguments, *from)
           : compare_recorded(arguments, Keep::points, Progress(arguments, "comparing records").callback());
  const HardwareProfile hardware = hardware_of(arguments, comparison);
  keep_records_of(hardware, comparison);
  analysis::shorten_kernel_names(comparison);
  if (arguments.text("page") == "family")
    deliver(arguments, family_text(arguments, collect_family(arguments, comparison, hardware)));
  else
    deliver(arguments, report_text(arguments, collect_report(arguments, comparison, hardware), comparison, hardware));
  return ExitStatus::done;
}

std::vector<OptionSpec> report_options() {
  auto output = output_options();
  output.front().help = "html (default): the page; json, csv or md: the same numbers";
  output.front().choices = {"html", "json", "csv", "md"};
  return predicted_options() + recorded_options() +
         std::vector<OptionSpec>{
             {"page",
              "report (default): every record, or family: a row a kernel, and ladders of speed",
              Value::choice,
              {"report", "family"}},
             {"pictures",
              "directory of records for the pictures of DRAM, errors, time and clock (default: those of --recorded)",
              Value::directory},
             {"from", "a capture, records, or a file that import reads: its attention launches", Value::file},
             {"point", "of --from: sizes of launches that nothing states, as in run; may be repeated"},
             nvdisasm_option(),
             {"assets", "folder with the page's bundle (default: that of the build)", Value::directory}} +
         output;
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "one self-contained HTML page (or Markdown, JSON, CSV)",
          .usage = "[--recorded DIRECTORY | --from CAPTURE | --model CONFIG | POINT] -o report.html",
          .examples =
              {"tilescope report -o report.html", "tilescope report --page family -o family.html",
               "tilescope report --hardware h100_sxm,h200_sxm --kernel fused_mma --heads 32 --head-dim 128 --axis "
               "seqlen=1k:64k:x2 -o sweep.html",
               "tilescope report --model llama-3-70b --hardware h100_sxm,h200_sxm --phase decode --batch 64 --context "
               "8k,32k --tp 8 -o model.html"},
          .notes =
              "With options of a point, or with --axis, the report is of predictions: --hardware, --dtype, --kernel "
              "and --schedule take lists by commas, and are crossed. --model asks for the calls of one layer of each "
              "group, whether or not the model fits (see tilescope model). Without, it is of records, predicted beside "
              "measured.",
          .options = report_options,
          .run = report};
}

}  // namespace tilescope::cli
