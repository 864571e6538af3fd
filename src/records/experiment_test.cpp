#include "records/experiment.h"

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"

namespace experiment_test {

using namespace tilescope;
using namespace tilescope::validate;

namespace {

const std::string head = "schema: tilescope/experiment/1\nname: t\nhardware: h200_sxm\n";

std::string point(const std::string& changed_key = "", const std::string& value = "") {
  std::string text = "points:\n";
  const std::pair<std::string, std::string> fields[] = {
      {"kernel", "fused_mma"}, {"tiles", "[{q: 128, kv: 64, warps: 4}]"},
      {"dtype", "[fp16]"},     {"batch", "[1]"},
      {"heads_q", "[16]"},     {"q_len", "[1024]"},
      {"head_dim", "[128]"},   {"mask", "[none]"}};
  std::string indent = "  - ";
  bool seen = false;
  for (const auto& [key, normal] : fields) {
    const bool changed = key == changed_key;
    seen = seen || changed;
    if (changed && value.empty()) continue;
    text += indent + key + ": " + (changed ? value : normal) + "\n";
    indent = "    ";
  }
  if (!seen && !changed_key.empty()) text += indent + changed_key + ": " + value + "\n";
  return text;
}

std::string findings(const std::string& text) {
  try {
    parse_experiment(text, "e.yaml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a grid is the product of its lists, and omitted lists follow their counterpart") {
  const Experiment experiment = parse_experiment(head + R"(points:
  - kernel: fused_mma
    tiles: [{q: 128, kv: 64, warps: 4}, {q: 64, kv: 64, warps: 4}]
    dtype: [fp16, bf16]
    batch: [1]
    heads_q: [16, 8]
    q_len: [1024, 4096]
    head_dim: [128]
    mask: [none, causal]
)",
                                                 "e.yaml");
  REQUIRE(experiment.points.size() == 32);
  for (const MeasurePoint& p : experiment.points) {
    CHECK(p.workload.heads_kv == p.workload.heads_q);
    CHECK(p.workload.kv_len == p.workload.q_len);
    CHECK(p.workload.d_v == p.workload.d_qk);
  }
  CHECK(point_id(experiment.points[1]) == "fused_mma-fp16-b1-hq16-hkv16-q1024-kv1024-d128-causal-tq128-tkv64-w4");
  CHECK(experiment.cold_repeats == 10);
  CHECK(experiment.steady_repeats == 20);
}

TEST_CASE("given kv lists are crossed with the query lists") {
  const Experiment experiment =
      parse_experiment(head + point("kv_len", "[512, 2048]") + "    heads_kv: [2, 4]\n", "e.yaml");
  REQUIRE(experiment.points.size() == 4);
  CHECK(experiment.points[0].workload.heads_kv == 2);
  CHECK(experiment.points[0].workload.kv_len == 512);
  CHECK(experiment.points[3].workload.heads_kv == 4);
  CHECK(experiment.points[3].workload.kv_len == 2048);
}

TEST_CASE("a kernel without tiles keeps a short id") {
  const Experiment experiment = parse_experiment(head + point("tiles"), "e.yaml");
  REQUIRE(experiment.points.size() == 1);
  CHECK(point_id(experiment.points[0]) == "fused_mma-fp16-b1-hq16-hkv16-q1024-kv1024-d128-none");
}

TEST_CASE("a wrong point is reported with its place and with what was expected") {
  const struct {
    std::string key, value, expected;
  } wrong[] = {
      {"kernel", "", "kernel"},
      {"kernel", "[a]", "kernel"},
      {"dtype", "[fp12]", "fp12"},
      {"dtype", "[]", "empty list"},
      {"mask", "[diagonal]", "diagonal"},
      {"batch", "[0]", "batch"},
      {"batch", "[-1]", "batch"},
      {"heads_q", "sixteen", "heads_q"},
      {"q_len", "[99999999999999999999]", "q_len"},
      {"q_len", "[1.5]", "q_len"},
      {"head_dim", "[nan]", "head_dim"},
      {"tiles", "[]", "leave it out"},
      {"tiles", "[{q: 128, kv: 64}]", "warps"},
      {"tiles", "[{q: 128, kv: 64, warps: 4, depth: 2}]", "depth"},
      {"heads_kv", "[3]", "found heads_q 16 and heads_kv 3"},
      {"heads_kv", "[16, 16]", "is listed twice"},
      {"colour", "[1]", "colour"},
  };
  for (const auto& [key, value, expected] : wrong) {
    CAPTURE(key);
    CAPTURE(value);
    const std::string message = findings(head + point(key, value));
    CAPTURE(message);
    CHECK(message.find(expected) != std::string::npos);
    CHECK(message.find("e.yaml:") != std::string::npos);
  }
}

TEST_CASE("a wrong head of the file is refused") {
  CHECK(findings("schema: tilescope/record/1\nname: t\nhardware: h\n" + point()).find("tilescope/experiment/1") !=
        std::string::npos);
  CHECK(findings("schema: tilescope/experiment/1\nname: ../t\nhardware: h\n" + point()).find("letters") !=
        std::string::npos);
  CHECK(findings(head + "points: []\n").find("has no point") != std::string::npos);
  CHECK(findings(head).find("points") != std::string::npos);
  CHECK(findings(head + "repeats: {cold: 0}\n" + point()).find("cold") != std::string::npos);
  CHECK(findings(head + "name: again\n" + point()).find("name") != std::string::npos);
}

TEST_CASE("the first tolerance that matches decides") {
  const Experiment experiment = parse_experiment(head + point() + R"(tolerances:
  - {quantity: traffic, level: hbm, direction: read, when: {kv_in_l2: false}, tolerance: report, reason: "no bar"}
  - {quantity: traffic, level: hbm, tolerance: 0.03, slack: 4096, reason: "cold L2"}
  - {quantity: traffic, kernel: reference, tolerance: 0.5, reason: "other"}
  - {quantity: traffic, when: {head_dim: 64, q_len_min: 2, mask: causal}, tolerance: 0.25, reason: "narrow"}
)",
                                                 "e.yaml");
  ToleranceQuery query{.quantity = "traffic", .level = "hbm", .direction = "read", .point = experiment.points[0]};
  REQUIRE(find_tolerance(experiment, query) == &experiment.tolerances[0]);
  CHECK(!experiment.tolerances[0].tolerance.has_value());
  query.kv_in_l2 = true;
  REQUIRE(find_tolerance(experiment, query) == &experiment.tolerances[1]);
  CHECK(experiment.tolerances[1].tolerance == doctest::Approx(0.03));
  CHECK(experiment.tolerances[1].slack == doctest::Approx(4096));
  query.level = "l2";
  CHECK(find_tolerance(experiment, query) == nullptr);
  query.point.workload.d_qk = 64;
  query.point.mask = "causal";
  CHECK(find_tolerance(experiment, query) == &experiment.tolerances[3]);
  query.point.workload.q_len = 1;
  CHECK(find_tolerance(experiment, query) == nullptr);
  query.quantity = "seconds";
  query.point.kernel = "reference";
  CHECK(find_tolerance(experiment, query) == nullptr);
}

TEST_CASE("a wrong tolerance is refused") {
  const auto with = [](const std::string& entry) {
    return findings(head + point() + "tolerances:\n  - {" + entry + "}\n");
  };
  CHECK(with("quantity: traffic, tolerance: 0.1").find("reason") != std::string::npos);
  CHECK(with("quantity: traffic, tolerance: -0.1, reason: r").find("tolerance") != std::string::npos);
  CHECK(with("quantity: traffic, tolerance: lots, reason: r").find("tolerance") != std::string::npos);
  CHECK(with("quantity: traffic, level: l3, tolerance: 0, reason: r").find("level") != std::string::npos);
  CHECK(with("quantity: traffic, when: {moon: full}, tolerance: 0, reason: r").find("moon") != std::string::npos);
  CHECK(with("quantity: traffic, when: {spills: 1}, tolerance: 0, reason: r").find("spills") != std::string::npos);
}

}  // namespace experiment_test
