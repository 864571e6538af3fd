// A sensitivity is two predictions with --set, and nothing else.
#include "request/sensitivity/sensitivity.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "base/test_seed.h"
#include "hardware/changes.h"
#include "predict/explain/labels.h"

namespace tilescope::sensitivity_test {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

// What `predict --set NUMBER=CHANGE` answers, with this tile unless it is empty.
void check_side(Given given, const SensitivityRow& row, const ChangedPoint& side, const std::string& change,
                const std::string& tile) {
  given.emplace_back("set", row.path + "=" + change);
  if (!tile.empty()) given.emplace_back("tile", tile);
  CAPTURE(row.path);
  CAPTURE(change);
  try {
    const Answer a = answer(checked_options(given, point_options()));
    REQUIRE(side.runs == a.prediction.feasible);
    if (!side.runs) return;
    const auto& both = a.prediction.traffic[Boundary::hbm];
    CHECK(side.seconds == a.prediction.time.total);
    CHECK(side.hbm_bytes == both[0] + both[1]);
  } catch (const InputError& error) {
    CHECK_FALSE(side.runs);
    CHECK(side.reason == error.diagnostics().front().message);
  }
}

const std::vector<Given>& sensitivity_points() {
  static const std::vector<Given> list{
      {{"hardware", "h200_sxm"}, {"kernel", "fused_mma"}, {"q-len", "1k"}, {"heads", "8"}, {"head-dim", "128"}},
      {{"hardware", "l40s"}, {"schedule", "flash2"}, {"q-len", "1k"}, {"heads", "4"}, {"dtype", "bf16"}},
      {{"hardware", "mi300x"}, {"schedule", "flash2"}, {"q-len", "512"}, {"heads", "4"}},
      {{"hardware", "b200_sxm"},
       {"kernel", "split_kv"},
       {"q-len", "1"},
       {"kv-len", "4k"},
       {"heads", "32"},
       {"heads-kv", "8"},
       {"head-dim", "128"}}};
  return list;
}

Given extended(Given given, const std::string& name, const std::string& value) {
  given.emplace_back(name, value);
  return given;
}

}  // namespace

TEST_CASE("each row of a sensitivity equals two predictions with --set") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  for (const Given& given : sensitivity_points()) {
    const Sensitivity answer = sensitivity_of(checked_options(extended(given, "step", "30"), sensitivity_options()));
    REQUIRE(answer.unchanged.prediction.feasible);
    REQUIRE(answer.rows.size() == profile_numbers(answer.unchanged.hardware).size());
    const std::string tile = tile_label(answer.unchanged.plan, answer.unchanged.point);
    for (std::size_t i = 0; i < answer.rows.size(); ++i) {
      if (i > 5 && random() % 12 != 0) continue;  // the largest changes, and some of the others
      check_side(given, answer.rows[i], answer.rows[i].down, "-30%", tile);
      check_side(given, answer.rows[i], answer.rows[i].up, "+30%", tile);
    }
    for (std::size_t i = 0; i + 1 < answer.rows.size(); ++i) {
      const auto span = [](const SensitivityRow& row) {
        return std::max(std::abs(row.time_change(row.down)), std::abs(row.time_change(row.up)));
      };
      CHECK(span(answer.rows[i]) >= span(answer.rows[i + 1]));
    }
    CHECK(answer.rows.front().matters());
  }
}

TEST_CASE("with --retile each changed GPU has the tile that predict would choose for it") {
  const Given given = sensitivity_points()[1];
  const Sensitivity answer = sensitivity_of(checked_options(
      extended(extended(given, "retile", "1"), "numbers", "levels.smem,levels.hbm.bandwidth"), sensitivity_options()));
  REQUIRE(answer.rows.size() >= 3);
  for (const SensitivityRow& row : answer.rows) {
    check_side(given, row, row.down, "-20%", "");
    check_side(given, row, row.up, "+20%", "");
  }
}

TEST_CASE("a number without which the point cannot run says so, and stands first") {
  Given given = sensitivity_points()[1];
  given.emplace_back("tile", "q=128,kv=128,warps=4");
  const Sensitivity answer = sensitivity_of(
      checked_options(extended(extended(given, "step", "90"), "numbers", "levels,compute"), sensitivity_options()));
  const SensitivityRow& first = answer.rows.front();
  CHECK_FALSE(first.down.runs);
  CHECK_FALSE(first.down.reason.empty());
  CHECK(answer.json()["rows"][0]["seconds_down"].is_null());
}

TEST_CASE("numbers that do not exist are refused") {
  CHECK_THROWS_AS(
      sensitivity_of(checked_options(extended(sensitivity_points()[0], "numbers", "level"), sensitivity_options())),
      InputError);
  CHECK_THROWS_AS(
      sensitivity_of(checked_options(extended(sensitivity_points()[0], "step", "95"), sensitivity_options())),
      InputError);
}

TEST_CASE("points whose walks would take minutes are answered by the closed form, which says so") {
  const std::vector<std::pair<std::string, std::string>> given{
      {"hardware", "h200_sxm"}, {"schedule", "flash2"}, {"batch", "16"},         {"heads", "64"},
      {"q_len", "8k"},          {"head_dim", "64"},     {"tile", "q=128,kv=64"}, {"numbers", "measured"}};
  const auto asked = [&](const std::string& l2) {
    auto options = given;
    if (!l2.empty()) options.emplace_back("l2", l2);
    return sensitivity_of(checked_options(options, sensitivity_options()));
  };
  const Sensitivity found = asked(""), closed = asked("closed");
  CHECK(found.note.find("--l2 walk walks them") != std::string::npos);
  CHECK(closed.note.empty());
  CHECK(found.unchanged.prediction.traffic == closed.unchanged.prediction.traffic);
  REQUIRE(found.rows.size() == closed.rows.size());
  for (std::size_t i = 0; i < found.rows.size(); ++i) CHECK(found.rows[i].up.seconds == closed.rows[i].up.seconds);
}

}  // namespace tilescope::sensitivity_test
