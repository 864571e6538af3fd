// A comparison as JSON and as JUnit XML.
#include <fmt/format.h>

#include <map>

#include "base/escape.h"
#include "compare/comparison_columns.h"
#include "compare/errors.h"

namespace tilescope {

Json to_json(const Comparison& comparison) {
  return {{"schema", "tilescope/comparison/1"},
          {"points", comparison.records.size()},
          {"rows", objects_of(comparison_columns(), comparison.rows)},
          {"skipped", objects_of(skipped_columns(), comparison.skipped)},
          {"summary", objects_of(summary_columns(), comparison.summary)},
          {"calibration", objects_of(calibration_columns(), calibration(observed_errors(comparison, {})))},
          {"search_regret", objects_of(regret_columns(), search_regret(comparison))}};
}

namespace {

// Records that were skipped, and kernels and quantities of which rows are only shown, with how many.
std::string skipped_cases(const Comparison& comparison, std::size_t& skipped) {
  std::map<std::pair<std::string, std::string>, std::size_t> shown;
  for (const ComparisonRow& row : comparison.rows)
    if (row.verdict == Verdict::info) ++shown[{row.kernel, row.label()}];
  skipped = shown.size() + comparison.skipped.size();
  std::string cases;
  for (const SkippedRecord& record : comparison.skipped)
    cases += fmt::format("  <testcase classname=\"{}.outside\" name=\"{}\"><skipped message=\"{}\"/></testcase>\n",
                         xml_escaped(record.kernel), xml_escaped(record.point), xml_escaped(record.reason));
  for (const auto& [of, count] : shown)
    cases += fmt::format("  <testcase classname=\"{}.{}\" name=\"{} rows, shown only\"><skipped/></testcase>\n",
                         xml_escaped(of.first), xml_escaped(of.second), count);
  return cases;
}

std::string judged_case(const ComparisonRow& row) {
  const std::string start = fmt::format("  <testcase classname=\"{}.{}\" name=\"{}\"", xml_escaped(row.kernel),
                                        xml_escaped(row.label()), xml_escaped(row.point));
  if (row.verdict == Verdict::pass) return start + "/>\n";
  return start + fmt::format(
                     ">\n    <failure message=\"predicted {:.6g}, measured {:.6g}, off by {:.3f} %, tolerance {:.3f} "
                     "%\">{}</failure>\n  </testcase>\n",
                     row.predicted, row.measured, 100 * row.relative_error(), 100 * *row.tolerance,
                     xml_escaped(row.reason));
}

}  // namespace

std::string to_junit(const Comparison& comparison) {
  const RowCounts counts = counts_of(comparison.rows);
  std::size_t skipped = 0;
  std::string cases = skipped_cases(comparison, skipped);
  for (const ComparisonRow& row : comparison.rows)
    if (row.verdict != Verdict::info) cases += judged_case(row);
  if (counts.judged == 0)
    cases +=
        "  <testcase classname=\"validate\" name=\"a row is judged\">\n    <failure message=\"no row is "
        "judged\"/>\n  </testcase>\n";
  const std::size_t none = counts.judged == 0 ? 1 : 0;
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"tilescope validate\" tests=\"{}\" "
      "failures=\"{}\" skipped=\"{}\">\n{}</testsuite>\n",
      counts.judged + skipped + none, counts.failed + none, skipped, cases);
}

}  // namespace tilescope
