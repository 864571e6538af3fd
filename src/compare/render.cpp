// A comparison as JSON and as JUnit XML.
#include <fmt/format.h>

#include <cmath>

#include "compare/compare.h"

namespace tilescope {
namespace {

// Counts are exact integers; times are not.
Json whole_or_real(double value) {
  return value == std::floor(value) && std::abs(value) < 9e15 ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

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
  Json rows = Json::array(), summary = Json::array(), regrets = Json::array();
  for (const ComparisonRow& row : comparison.rows)
    rows.push_back({{"point", row.point},
                    {"kernel", row.kernel},
                    {"quantity", row.quantity + (row.direction.empty() ? "" : " " + row.direction)},
                    {"level", row.level},
                    {"direction", row.direction},
                    {"predicted", whole_or_real(row.predicted)},
                    {"measured", whole_or_real(row.measured)},
                    {"ratio", row.measured == 0 ? Json(nullptr) : finite(row.predicted / row.measured)},
                    {"tolerance", row.tolerance ? Json(*row.tolerance) : Json(nullptr)},
                    {"slack", row.slack},
                    {"verdict", to_string(row.verdict)},
                    {"reason", row.reason}});
  for (const SummaryRow& row : comparison.summary)
    summary.push_back({{"kernel", row.kernel},
                       {"quantity", row.quantity},
                       {"n", row.n},
                       {"failed", row.failed},
                       {"mean", finite(row.mean)},
                       {"median", finite(row.median)},
                       {"p90", finite(row.p90)},
                       {"worst", finite(row.worst)}});
  for (const SearchRegret& regret : search_regret(comparison))
    regrets.push_back({{"hardware", regret.hardware},
                       {"kernel", regret.kernel},
                       {"workloads", regret.workloads},
                       {"tiles", regret.tiles},
                       {"mean", regret.mean},
                       {"worst", regret.worst},
                       {"worst_workload", regret.worst_workload}});
  return {{"schema", "tilescope/comparison/1"},
          {"points", comparison.records.size()},
          {"rows", std::move(rows)},
          {"summary", std::move(summary)},
          {"search_regret", std::move(regrets)}};
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
