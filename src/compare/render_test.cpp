// Tests the summary of a comparison: it counts the judged rows, and it does not pass without a judged row.
#include <doctest/doctest.h>

#include "compare/compare.h"

namespace render_test {

using namespace tilescope;

namespace {

ComparisonRow row_of(Verdict verdict, double predicted, double measured) {
  ComparisonRow row;
  row.point = "point <1>", row.kernel = "kernel", row.quantity = "seconds";
  row.predicted = predicted, row.measured = measured, row.verdict = verdict;
  if (verdict != Verdict::info) row.tolerance = 0.1;
  return row;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a comparison without a judged row fails, also in JUnit") {
  Comparison shown;
  CHECK_FALSE(shown.passed());
  shown.rows = {row_of(Verdict::info, 1, 2), row_of(Verdict::info, 1, 3)};
  CHECK_FALSE(shown.passed());
  CHECK(counts_of(shown.rows).shown == 2);
  const std::string junit = to_junit(shown);
  CHECK(has(junit, "tests=\"2\" failures=\"1\" skipped=\"1\""));
  CHECK(has(junit, "no row is judged"));
  CHECK(has(junit, "2 rows, shown only"));
}

TEST_CASE("JUnit counts judged, failed and skipped rows") {
  Comparison mixed;
  mixed.rows = {row_of(Verdict::pass, 1, 1), row_of(Verdict::fail, 1, 2), row_of(Verdict::info, 1, 3)};
  CHECK_FALSE(mixed.passed());
  const std::string junit = to_junit(mixed);
  CHECK(has(junit, "tests=\"3\" failures=\"1\" skipped=\"1\""));
  CHECK(has(junit, "point &lt;1&gt;"));
  mixed.rows.erase(mixed.rows.begin() + 1);
  CHECK(mixed.passed());
}

}  // namespace render_test
