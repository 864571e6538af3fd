// The parts of a time that predict prints: no part is negative, and together they are the time.
#include <doctest/doctest.h>

#include <map>

#include "request/answer.h"
#include "request/option_specs.h"
#include "request/sweep/grid.h"

namespace time_parts_test {

using namespace tilescope;

namespace {

using Asked = std::vector<std::pair<std::string, std::string>>;

std::map<std::string, double> time_parts(const Answer& a) {
  std::map<std::string, double> parts;
  for (const PredictionColumn& column : columns_at(prediction_columns(a.plan), shown::time_text))
    parts[column.key] = column.value(a.row()).get<double>();
  return parts;
}

}  // namespace

TEST_CASE("the parts of a time are not negative and sum to it") {
  const std::vector<Asked> asked{
      {{"schedule", "flash2-backward"},
       {"heads-q", "16"},
       {"q-len", "4k"},
       {"head-dim", "128"},
       {"tile", "q=64,kv=64,warps=4"}},
      {{"schedule", "flash2-backward-split"},
       {"heads-q", "16"},
       {"q-len", "1k"},
       {"head-dim", "64"},
       {"tile", "q=64,kv=64,warps=4"}},
      {{"schedule", "split-kv"}, {"workload", "llama3-70b-decode"}, {"tile", "q=2,kv=64,pack=8,splits=1,warps=4"}},
      {{"schedule", "flash2"},
       {"heads-q", "16"},
       {"q-len", "4k"},
       {"head-dim", "128"},
       {"tile", "q=128,kv=64,pack=1,warps=8"}}};
  int timed = 0;
  for (const std::string gpu : {"h100_sxm", "h200_sxm", "h100_pcie", "h20", "l4", "a100_sxm_80", "b200_sxm"})
    for (Asked given : asked) {
      CAPTURE(gpu);
      CAPTURE(given.front().second);
      given.emplace_back("hardware", gpu);
      const Answer a = answer_of_plan(checked_options(given, point_options()));
      if (!a.prediction.feasible || !a.prediction.time.modelled) continue;
      ++timed;
      std::map<std::string, double> parts = time_parts(a);
      for (const auto& [name, seconds] : parts) CHECK_MESSAGE(seconds >= 0, name);
      CHECK(parts["busy_seconds"] + parts["wait_seconds"] + parts["between_kernels"] ==
            doctest::Approx(parts["seconds"]));
    }
  CHECK(timed >= 20);
}

TEST_CASE("a sweep's point says what faster resources would save, as predict does") {
  const Asked given{{"hardware", "h200_sxm"}, {"schedule", "flash2"}, {"heads-q", "4"}, {"head-dim", "128"}};
  Asked swept = given, predicted = given;
  swept.emplace_back("axis", "q_len=1k,2k"), predicted.emplace_back("q-len", "1k");
  const SweepGrid grid(checked_options(swept, point_options() + sweep_axis_options()));
  std::vector<Json> rows;
  each_point(grid, [&](const SweptPoint& point) { rows.push_back(sweep_object(point)); });
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["time"] == answer_of_plan(checked_options(predicted, point_options())).json()["time"]);
  double saved = 0;
  for (const auto& [thing, part] : rows[0]["time"]["saved_by_10_percent"].items()) saved += part.get<double>();
  CHECK(saved > 0);
  for (const auto& [name, value] : Asked{{"l2", "closed"}, {"hardware", "mi300x"}}) {
    Asked other = predicted;
    if (name == "hardware") other.erase(other.begin());
    other.emplace_back(name, value);
    CHECK(answer_of_plan(checked_options(other, point_options())).json()["time"]["saved_by_10_percent"].is_null());
  }
}

}  // namespace time_parts_test
