#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/commands/commands.h"
#include "cli/family_data.h"
#include "cli/input/recorded_options.h"
#include "cli/output/progress.h"
#include "cli/report_data.h"
#include "cli/report_pictures.h"
#include "report/report.h"

namespace tilescope::cli {

namespace {

// --hardware, or the GPU with most records.
HardwareProfile hardware_of(const Arguments& arguments, const Comparison& comparison) {
  std::map<std::string, int> counts;
  for (const ComparedPoint& point : comparison.points) ++counts[point.record.environment.hardware];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return find_profile(arguments.text("hardware").value_or(most->first), data_directory() / "hardware");
}

void keep_records_of(const HardwareProfile& hardware, Comparison& comparison) {
  std::erase_if(comparison.points,
                [&](const ComparedPoint& point) { return point.record.environment.hardware != hardware.id; });
  if (comparison.points.empty()) refuse("--hardware", fmt::format("no record was measured on {}", hardware.id));
}

validate::Environment latest_environment(const Comparison& comparison) {
  const auto earlier = [](const ComparedPoint& a, const ComparedPoint& b) {
    return a.record.environment.date < b.record.environment.date;
  };
  return std::max_element(comparison.points.begin(), comparison.points.end(), earlier)->record.environment;
}

Json collect(const Arguments& arguments, bool family) {
  Comparison comparison = compare_recorded(arguments);
  const HardwareProfile hardware = hardware_of(arguments, comparison);
  keep_records_of(hardware, comparison);
  const validate::Environment latest = latest_environment(comparison);
  const Progress progress(arguments, "report: collecting");
  Json data = (family ? family_data : report_data)(comparison, hardware, latest.revision, latest.date.substr(0, 10));
  if (family) return data;
  if (const auto more = arguments.text("pictures")) {
    comparison = compare_recorded(arguments, *more);
    keep_records_of(hardware, comparison);
  }
  data["pictures"] = pictures(comparison, hardware, data_directory() / "validate" / "errors.json");
  return data;
}

ExitStatus report(const Arguments& arguments) {
  const bool family = arguments.text("page") == "family";
  const Json data = collect(arguments, family);
  const nlohmann::json plain = nlohmann::json::parse(data.dump());
  const std::string assets = arguments.text("assets").value_or(report_asset_directory());
  const OutputFormat format = arguments.format();
  if (format == OutputFormat::json) deliver(arguments, data.dump(1) + "\n");
  else if (format == OutputFormat::md)
    deliver(arguments, family ? render_family_markdown(plain) : render_markdown(plain));
  else if (format == OutputFormat::csv) deliver(arguments, family ? render_family_csv(plain) : render_csv(plain));
  else deliver(arguments, family ? render_family_html(plain, assets) : render_html(plain, assets));
  return ExitStatus::done;
}

std::vector<OptionSpec> report_options() {
  auto output = output_options();
  output.front().help = "text or none: the HTML page; json, csv or md: the same numbers";
  return recorded_options() +
         std::vector<OptionSpec>{
             {"hardware", "only records of this GPU (default: the one with most)", Value::hardware},
             {"page",
              "report (default): every record, or family: a row a kernel, and ladders of speed",
              Value::choice,
              {"report", "family"}},
             {"pictures",
              "directory of records for the pictures of DRAM, errors, time and clock (default: those of --recorded)",
              Value::directory},
             {"assets", "folder with the page's bundle (default: that of the build)", Value::directory}} +
         output;
}

}  // namespace

Command report_command() {
  return {.name = "report",
          .summary = "one self-contained HTML page (or Markdown, JSON, CSV)",
          .usage = "[--recorded DIRECTORY] -o report.html",
          .examples = {"tilescope report -o report.html", "tilescope report --page family -o family.html",
                       "tilescope report --format md"},
          .notes = "",
          .options = report_options,
          .run = report};
}

}  // namespace tilescope::cli
