#include "compare/gate/baseline.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "compare/gate/parts.h"

namespace baseline_test {

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
  const auto changes =
      changes_since(baseline_of(old, GateSource{TILESCOPE_SOURCE_DIR}), current, GateSource{TILESCOPE_SOURCE_DIR});
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
  Baseline baseline = baseline_of(old, GateSource{TILESCOPE_SOURCE_DIR});
  baseline.files["profile of h200_sxm"] = "0";
  const auto changes = changes_since(baseline, current, GateSource{TILESCOPE_SOURCE_DIR});
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].what.starts_with(
      "the measurement moved from 1 to 1.05 (+5.00 %); error 0.00 % -> 4.76 %; profile of h200_sxm changed"));
  CHECK(changes[1].what == "is in the baseline and is not compared any more");
  CHECK(changes[2].verdict == Verdict::info);
  CHECK_FALSE(passes(changes));
  const std::string junit = to_junit(changes, 3);
  CHECK(junit.find("tests=\"3\" failures=\"2\"") != std::string::npos);
  CHECK(junit.find("profile of h200_sxm changed") != std::string::npos);
}

TEST_CASE("the line says which parts of the prediction moved most") {
  ComparisonRow before = gated("traffic", 1000, 1000), now = gated("traffic", 1500, 1000);
  before.parts = {{"K", 400}, {"O", 100}, {"Q", 500}}, now.parts = {{"K", 1000}, {"Q", 499}, {"spilled registers", 1}};
  Comparison old, current;
  old.rows = {before}, current.rows = {now};
  const Baseline baseline = baseline_of(old, {TILESCOPE_SOURCE_DIR});
  CHECK(changes_since(baseline, current, {TILESCOPE_SOURCE_DIR}).at(0).what ==
        "the prediction moved from 1,000 to 1,500 (+50.00 %), most of it K +600, O -100; error 0.00 % -> 50.00 %");
  now = gated("seconds", 3e-4, 3e-4), before = gated("seconds", 2.5e-4, 3e-4);
  before.parts = {{"SMs busy", 2.4e-4}, {"between kernels", 1e-5}},
  now.parts = {{"SMs busy", 2.9e-4}, {"between kernels", 1e-5}};
  CHECK(moved_parts(before.parts, now.parts) == "SMs busy +50 us");
  CHECK(moved_parts({}, now.parts) == "");
}

TEST_CASE("the line names the commit that changed a descriptor, or the two versions of the program") {
  const TemporaryDirectory folder("tilescope-baseline");
  const std::string file = (folder.path() / "mine.kernel.yaml").string();
  write_file(file, "kernel: mine\n");
  Comparison comparison;
  comparison.rows = {gated("tensor_flop", 1, 1)};
  comparison.rows[0].kernel = file;
  Baseline baseline = baseline_of(comparison, {TILESCOPE_SOURCE_DIR, "0.1.0, revision a"});
  comparison.rows[0].predicted = 2;
  write_file(file, "kernel: mine # changed\n");
  const auto what = [&] {
    return changes_since(baseline, comparison, {TILESCOPE_SOURCE_DIR, "0.2.0, revision b"}).at(0).what;
  };
  CHECK(what().ends_with("; descriptor of " + file + " changed (tilescope 0.1.0, revision a -> 0.2.0, revision b)"));
  const std::string git = "cd " + folder.path().string() + " && git -c user.name=n -c user.email=e@e ";
  if (std::system((git + "init -q . 2>/dev/null").c_str()) != 0) return;  // no git here
  REQUIRE(std::system((git + "add . && " + git.substr(git.find("git")) + "commit -q -m x").c_str()) == 0);
  CHECK(what().find(" changed (commit ") != std::string::npos);
  write_file(file, "kernel: mine # changed again\n");
  CHECK(what().ends_with(" changed (not committed)"));
}

TEST_CASE("the line names the machine code and the steps that changed, also of a kernel in another one's folder") {
  const TemporaryDirectory folder("tilescope-baseline");
  const std::filesystem::path family = folder.path() / "kernels" / "family";
  std::filesystem::create_directories(family);
  const char* const files[] = {"form.kernel.yaml", "form.code.json", "form.steps.zst"};
  const char* const named[] = {"descriptor of form", "machine code of form", "steps of form"};
  Comparison comparison;
  comparison.rows = {gated("tensor_flop", 1, 1)};
  comparison.rows[0].kernel = "form";
  for (unsigned changed = 0; changed < 8; ++changed) {
    for (const char* file : files) write_file((family / file).string(), "a");
    comparison.rows[0].predicted = 1;
    const Baseline baseline = baseline_of(comparison, {folder.path(), "0.1.0"});
    comparison.rows[0].predicted = 2;
    for (unsigned i = 0; i < 3; ++i)
      if ((changed >> i & 1) != 0) write_file((family / files[i]).string(), "b");
    const std::string what = changes_since(baseline, comparison, {folder.path(), "0.1.0"}).at(0).what;
    for (unsigned i = 0; i < 3; ++i)
      CHECK_MESSAGE((what.find(std::string("; ") + named[i] + " changed") != std::string::npos) == (changed >> i & 1),
                    what);
  }
}

TEST_CASE("a baseline is read back as it was written, and another file is refused") {
  const TemporaryDirectory folder("tilescope-baseline");
  const std::filesystem::path file = folder.path() / "b.json";
  Comparison comparison;
  comparison.rows = {gated("seconds", 0.1, 1.0 / 3), gated("tensor_flop", 3e15, 3e15)};
  comparison.rows[1].parts = {{"forward", 1e15}, {"merge", 2e15}};
  const Baseline written = baseline_of(comparison, {TILESCOPE_SOURCE_DIR, "0.1.0"});
  write_file(file, to_json(written).dump());
  CHECK(to_json(read_baseline(file)) == to_json(written));
  CHECK(changes_since(read_baseline(file), comparison, GateSource{TILESCOPE_SOURCE_DIR}).empty());
  for (const char* wrong : {"{}", "[]", R"({"schema": "tilescope/errors/1", "files": {}, "rows": []})",
                            R"({"schema": "tilescope/baseline/1", "files": {}, "rows": []})",
                            R"({"schema": "tilescope/baseline/1", "files": {}, "rows": [{"predicted": -1}]})"}) {
    CAPTURE(wrong);
    write_file(file, wrong);
    CHECK_THROWS_AS(read_baseline(file), InputError);
  }
}

}  // namespace baseline_test
