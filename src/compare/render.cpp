// A comparison as JSON and as JUnit XML.
#include <fmt/format.h>

#include "compare/comparison_columns.h"

namespace tilescope {
namespace {

std::string xml_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

}  // namespace

Json to_json(const Comparison& comparison) {
  return {{"schema", "tilescope/comparison/1"},
          {"points", comparison.records.size()},
          {"rows", objects_of(comparison_columns(), comparison.rows)},
          {"summary", objects_of(summary_columns(), comparison.summary)},
          {"search_regret", objects_of(regret_columns(), search_regret(comparison))}};
}

std::string to_junit(const Comparison& comparison) {
  std::size_t judged = 0, failed = 0;
  std::string cases;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.verdict == Verdict::info) continue;
    ++judged;
    cases += fmt::format("  <testcase classname=\"{}.{}\" name=\"{}\"", xml_escaped(row.kernel),
                         xml_escaped(row.label()), xml_escaped(row.point));
    if (row.verdict == Verdict::pass) {
      cases += "/>\n";
      continue;
    }
    ++failed;
    cases += fmt::format(
        ">\n    <failure message=\"predicted {:.6g}, measured {:.6g}, off by {:.3f} %, tolerance {:.3f} "
        "%\">{}</failure>\n  </testcase>\n",
        row.predicted, row.measured, 100 * row.relative_error(), 100 * *row.tolerance, xml_escaped(row.reason));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"tilescope validate\" tests=\"{}\" "
      "failures=\"{}\">\n{}</testsuite>\n",
      judged, failed, cases);
}

}  // namespace tilescope
