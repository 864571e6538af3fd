#include "compare/gate/baseline.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"

using namespace tilescope;

namespace {

ComparisonRow gated(const std::string& quantity, double predicted, double measured) {
  ComparisonRow row;
  row.experiment = "gate", row.hardware = "h200_sxm", row.kernel = "fused_mma", row.point = "p";
  row.quantity = quantity, row.predicted = predicted, row.measured = measured;
  if (quantity == "traffic") row.level = "hbm", row.direction = "read";
  return row;
}

// What the gate says of one row that was `before` and is `now`; "pass" where nothing moved.
std::string verdict_of(const ComparisonRow& before, const ComparisonRow& now) {
  Comparison old, current;
  old.rows = {before}, current.rows = {now};
  const auto changes = changes_since(baseline_of(old, TILESCOPE_SOURCE_DIR), current, TILESCOPE_SOURCE_DIR);
  return changes.empty() ? "pass" : to_string(changes.front().verdict);
}

}  // namespace

TEST_CASE("counts are gated exactly, times by two thresholds together") {
  const ComparisonRow flop = gated("tensor_flop", 1000, 1000), time = gated("seconds", 1.00, 1.00),
                      bytes = gated("traffic", 1000, 1000), slow = gated("seconds", 1.40, 1.00);
  CHECK(verdict_of(flop, flop) == "pass");
  CHECK(verdict_of(flop, gated("tensor_flop", 1001, 1000)) == "fail");
  CHECK(verdict_of(flop, gated("tensor_flop", 1000, 1001)) == "fail");
  CHECK(verdict_of(bytes, gated("traffic", 1001, 1000)) == "fail");  // a predicted count
  CHECK(verdict_of(bytes, gated("traffic", 1000, 1001)) == "info");  // other programs move bytes
  CHECK(verdict_of(bytes, gated("traffic", 1000, 1050)) == "fail");
  CHECK(verdict_of(time, gated("seconds", 1.01, 1.00)) == "info");  // worse by one point
  CHECK(verdict_of(time, gated("seconds", 1.03, 1.00)) == "fail");
  CHECK(verdict_of(slow, gated("seconds", 1.40, 1.04)) == "fail");  // a smaller error, and a slower kernel
  CHECK(verdict_of(slow, gated("seconds", 1.40, 1.02)) == "info");
  CHECK(verdict_of(slow, gated("seconds", 1.43, 1.00)) == "info");  // three points, but 7.5 % of its error
  CHECK(verdict_of(slow, gated("seconds", 1.45, 1.00)) == "fail");
  CHECK(verdict_of(slow, gated("seconds", 1.20, 1.00)) == "info");  // better
}

TEST_CASE("a row that is gone fails, a new one does not, and each says why in one line") {
  Comparison old, current;
  old.rows = {gated("tensor_flop", 1, 1), gated("seconds", 1, 1)};
  current.rows = {gated("seconds", 1, 1.05), gated("xu", 4, 4)};
  Baseline baseline = baseline_of(old, TILESCOPE_SOURCE_DIR);
  baseline.files["profile of h200_sxm"] = "0";
  const auto changes = changes_since(baseline, current, TILESCOPE_SOURCE_DIR);
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].what ==
        "the measurement moved from 1 to 1.05 (+5.00 %); error 0.00 % -> 4.76 %; profile of h200_sxm changed");
  CHECK(changes[1].what == "is in the baseline and is not compared any more");
  CHECK(changes[2].verdict == Verdict::info);
  CHECK_FALSE(passes(changes));
  const std::string junit = to_junit(changes, 3);
  CHECK(junit.find("tests=\"3\" failures=\"2\"") != std::string::npos);
  CHECK(junit.find("profile of h200_sxm changed") != std::string::npos);
}

TEST_CASE("a baseline is read back as it was written, and another file is refused") {
  const TemporaryDirectory folder("tilescope-baseline");
  const std::filesystem::path file = folder.path() / "b.json";
  Comparison comparison;
  comparison.rows = {gated("seconds", 0.1, 1.0 / 3), gated("tensor_flop", 3e15, 3e15)};
  const Baseline written = baseline_of(comparison, TILESCOPE_SOURCE_DIR);
  write_file(file, to_json(written).dump());
  CHECK(to_json(read_baseline(file)) == to_json(written));
  CHECK(changes_since(read_baseline(file), comparison, TILESCOPE_SOURCE_DIR).empty());
  for (const char* wrong : {"{}", "[]", R"({"schema": "tilescope/errors/1", "files": {}, "rows": []})",
                            R"({"schema": "tilescope/baseline/1", "files": {}, "rows": []})",
                            R"({"schema": "tilescope/baseline/1", "files": {}, "rows": [{"predicted": -1}]})"}) {
    CAPTURE(wrong);
    write_file(file, wrong);
    CHECK_THROWS_AS(read_baseline(file), InputError);
  }
}
