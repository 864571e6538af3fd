// Tests the summary of a comparison: it counts the judged rows, and it does not pass without a judged row.
#include <doctest/doctest.h>

#include <set>
#include <string>

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

TEST_CASE("no two cases of JUnit have one name, of rows of several GPUs, experiments and folders") {
  Comparison all;
  for (const std::string gpu : {"h100_sxm", "h200_sxm"})
    for (const std::string experiment : {"main", "drawn"})
      for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::info, Verdict::pass}) {
        all.rows.push_back(row_of(verdict, 1, 2));
        all.rows.back().hardware = gpu, all.rows.back().experiment = experiment;
      }
  all.skipped = {{"h100_sxm", "kernel", "p", "r"}, {"h200_sxm", "kernel", "p", "r"}, {"h200_sxm", "kernel", "p", "r"}};
  const std::string junit = to_junit(all);
  std::set<std::string> names;
  std::size_t cases = 0;
  for (std::size_t at = junit.find("<testcase "); at != std::string::npos; at = junit.find("<testcase ", at + 1)) {
    const std::size_t name = junit.find("name=\"", junit.find("classname=\"", at) + 11) + 6;
    names.insert(junit.substr(at, junit.find('"', name) - at)), ++cases;
  }
  CHECK(cases == 19);
  CHECK(names.size() == cases);
  CHECK(has(junit, "classname=\"h200_sxm.drawn.kernel.seconds\" name=\"point &lt;1&gt;\""));
}

}  // namespace render_test
