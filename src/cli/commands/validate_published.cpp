#include "cli/commands/validate_published.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "cli/output/output.h"
#include "compare/published.h"

namespace tilescope::cli {
namespace {

Json rounded_percent(double relative) { return fmt::format("{:.1f} %", 100 * relative); }
Json rank(double value) { return fmt::format("{:.3f}", value); }

Table table_of(const std::vector<PublishedResult>& results) {
  Table table{.title = "predicted against published times; roofline: FLOP over peak or compulsory bytes over bandwidth",
              .columns = {"table", "GPU", "rows", "fit", "mean error", "median", "worst", "bias", "rank", "bars",
                          "roofline error", "roofline rank"},
              .rows = {}};
  for (const PublishedResult& result : results) {
    std::string bars;
    if (result.most_mape) bars = fmt::format("{:.3g} %", 100 * *result.most_mape);
    if (result.least_rank) bars += fmt::format("{}{:.3g}", bars.empty() ? "" : ", ", *result.least_rank);
    bars = bars.empty() ? "-" : fmt::format("{}: {}", bars, result.passed() ? "held" : "NOT HELD");
    table.rows.push_back({result.name, result.hardware, result.rows.size(), result.model.error.n,
                          rounded_percent(result.model.error.mean), rounded_percent(result.model.error.median),
                          rounded_percent(result.model.error.worst), rounded_percent(result.model.bias),
                          rank(result.model.rank), bars, rounded_percent(result.roofline.error.mean),
                          rank(result.roofline.rank)});
  }
  return table;
}

Table rows_of(const std::vector<PublishedResult>& results) {
  Table table{.title = "",
              .columns = {"table", "hardware", "point", "measured_seconds", "predicted_seconds", "ratio",
                          "roofline_seconds", "fits"},
              .rows = {}};
  for (const PublishedResult& result : results)
    for (const PublishedTime& row : result.rows)
      table.rows.push_back({result.name, result.hardware, row.point, row.measured,
                            row.fits() ? Json(row.predicted) : Json(nullptr),
                            row.fits() ? Json(row.predicted / row.measured) : Json(nullptr), row.roofline, row.fits()});
  return table;
}

}  // namespace

ExitStatus validate_published(const Arguments& arguments) {
  for (const char* other : {"recorded", "experiment", "junit", "errors"})
    if (arguments.has(other))
      throw InputError(Diagnostic{.path = "--" + std::string(other),
                                  .message = "goes with records, not with --published; give one of them"});
  const std::vector<PublishedResult> results =
      compare_published(validate::read_published(*arguments.text("published")), data_directory());
  if (const auto markdown = arguments.text("markdown"))
    write_file(*markdown, render(table_of(results), OutputFormat::md));
  const OutputFormat format = arguments.format();
  if (format == OutputFormat::json) deliver(arguments, to_json(results).dump(1) + "\n");
  else
    deliver(arguments, render(format == OutputFormat::csv ? rows_of(results) : table_of(results), style_of(arguments)));
  const bool held =
      std::all_of(results.begin(), results.end(), [](const PublishedResult& result) { return result.passed(); });
  return held ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace tilescope::cli
