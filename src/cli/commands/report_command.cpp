#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/files.h"
#include "cli/cli.h"
#include "cli/family_data.h"
#include "cli/output/help.h"
#include "cli/input/recorded_options.h"
#include "cli/report_data.h"
#include "cli/report_pictures.h"
#include "report/report.h"
#include "validate/measure/measure.h"

namespace tilescope::cli {

ExitStatus report_command(const std::vector<std::string>& words) {
  const auto specs =
      recorded_options() +
      std::vector<OptionSpec>{
          {"hardware", "only records of this GPU (default: the one with most)"},
          {"page", "report (default): every record, or family: a row a kernel, and ladders of speed"},
          {"pictures",
           "directory of records for the pictures of DRAM, errors, time and clock (default: those of --recorded)"},
          {"assets", "folder with the page's bundle (default: that of the build)"}} +
      output_options();
  if (help_wanted(words, "report [--recorded DIRECTORY] -o report.html", specs,
                  "  tilescope report -o report.html\n  tilescope report --page family -o family.html\n  tilescope "
                  "report --format md\n"
                  "--format text or none writes the HTML page; md, json and csv carry the same numbers.\n"))
    return ExitStatus::done;
  const Arguments arguments("report", words, specs, 0);
  const OutputFormat format = arguments.format();  // wrong options are refused before any work
  arguments.text("output");
  const std::string page = arguments.text("page").value_or("report");
  if (page != "report" && page != "family")
    throw InputError(
        Diagnostic{.path = "--page", .message = fmt::format("expected report or family, found '{}'", page)});
  Comparison comparison = compare_recorded(arguments);
  std::map<std::string, int> counts;
  for (const ComparedPoint& point : comparison.points) ++counts[point.record.environment.hardware];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string id = arguments.text("hardware").value_or(most->first);
  const HardwareProfile hardware = find_profile(id, data_directory() / "hardware");
  const auto elsewhere = [&](const ComparedPoint& point) { return point.record.environment.hardware != hardware.id; };
  std::erase_if(comparison.points, elsewhere);
  if (comparison.points.empty())
    throw InputError(
        Diagnostic{.path = "--hardware", .message = fmt::format("no record was measured on {}", hardware.id)});
  const bool family = page == "family";
  const auto earlier = [](const ComparedPoint& a, const ComparedPoint& b) {
    return a.record.environment.date < b.record.environment.date;
  };
  const validate::Environment latest =
      std::max_element(comparison.points.begin(), comparison.points.end(), earlier)->record.environment;
  Json data = (family ? family_data : report_data)(comparison, hardware, latest.revision, latest.date.substr(0, 10));
  if (!family) {
    if (const auto more = arguments.text("pictures")) {
      comparison = compare_recorded(arguments, *more);
      std::erase_if(comparison.points, elsewhere);
    }
    data["pictures"] = pictures(comparison, hardware, data_directory() / "validate" / "errors.json");
  }
  const nlohmann::json plain = nlohmann::json::parse(data.dump());
  const std::string assets = arguments.text("assets").value_or(TILESCOPE_ASSET_DIR);
  if (format == OutputFormat::json) deliver(arguments, data.dump(1) + "\n");
  else if (format == OutputFormat::md)
    deliver(arguments, family ? render_family_markdown(plain) : render_markdown(plain));
  else if (format == OutputFormat::csv) deliver(arguments, family ? render_family_csv(plain) : render_csv(plain));
  else deliver(arguments, family ? render_family_html(plain, assets) : render_html(plain, assets));
  return ExitStatus::done;
}

}  // namespace tilescope::cli
