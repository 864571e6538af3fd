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

// Test cases with names that differ: programs that read JUnit take cases of one class and name for one.
class Cases {
 public:
  // The start of a case, up to its attributes.
  std::string start(const std::string& of_class, const std::string& name) {
    const std::size_t before = uses_[{of_class, name}]++;
    return fmt::format("  <testcase classname=\"{}\" name=\"{}{}\"", xml_escaped(of_class), xml_escaped(name),
                       before == 0 ? "" : fmt::format(" ({})", before + 1));
  }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> uses_;
};

// "h200_sxm.main.fused_mma.seconds".
std::string class_of(const ComparisonRow& row) {
  std::string name;
  for (const std::string& part : {row.hardware, row.experiment, row.kernel})
    if (!part.empty()) name += part + ".";
  return name + row.label();
}

// Records that were skipped, and classes of which rows are only shown, with how many.
std::string skipped_cases(const Comparison& comparison, Cases& cases, std::size_t& skipped) {
  std::map<std::string, std::size_t> shown;
  for (const ComparisonRow& row : comparison.rows)
    if (row.verdict == Verdict::info) ++shown[class_of(row)];
  skipped = shown.size() + comparison.skipped.size();
  std::string text;
  for (const SkippedRecord& record : comparison.skipped)
    text += cases.start(fmt::format("{}.{}.outside", record.hardware, record.kernel), record.point) +
            fmt::format("><skipped message=\"{}\"/></testcase>\n", xml_escaped(record.reason));
  for (const auto& [of_class, count] : shown)
    text += cases.start(of_class, fmt::format("{} rows, shown only", count)) + "><skipped/></testcase>\n";
  return text;
}

std::string judged_case(const ComparisonRow& row, Cases& cases) {
  const std::string start = cases.start(class_of(row), row.point);
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
  Cases cases;
  std::size_t skipped = 0;
  std::string text = skipped_cases(comparison, cases, skipped);
  for (const ComparisonRow& row : comparison.rows)
    if (row.verdict != Verdict::info) text += judged_case(row, cases);
  if (counts.judged == 0)
    text +=
        "  <testcase classname=\"validate\" name=\"a row is judged\">\n    <failure message=\"no row is "
        "judged\"/>\n  </testcase>\n";
  const std::size_t none = counts.judged == 0 ? 1 : 0;
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"tilescope validate\" tests=\"{}\" "
      "failures=\"{}\" skipped=\"{}\">\n{}</testsuite>\n",
      counts.judged + skipped + none, counts.failed + none, skipped, text);
}

}  // namespace tilescope
