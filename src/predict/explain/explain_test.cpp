// Tests that terms explain totals. The terms sum to the totals. A formula of sizes and tiles only evaluates to the
// bytes of its term.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "base/text.h"
#include "predict/explain/because.h"
#include "predict/explain/notes.h"
#include "predict/explain/prediction_json.h"
#include "predict/explain/pseudocode.h"
#include "predict/formula_value.h"
#include "predict/predict.h"

namespace tilescope::explain_test {
namespace {

struct Case {
  const char *schedule, *diagram;
};
const Case cases[] = {{"standard", ""},
                      {"flash1", ""},
                      {"flash1-printed", ""},
                      {"flash2", ""},
                      {"split-kv", ""},
                      {"flash1-backward", ""},
                      {"flash2-backward", ""},
                      {"flash2-backward-split", ""},
                      {"matmul", ""},
                      {"flash2", "attention_paged"},
                      {"flash2", "mla_expanded"},
                      {"flash2", "mla_absorbed"}};

void add(Json& totals, const Json& term) {
  const std::string key = term["boundary"].get<std::string>() + term["direction"].get<std::string>();
  totals[key] = totals.value(key, std::int64_t{0}) + term["bytes"].get<std::int64_t>();
}

}  // namespace

TEST_CASE(
    "the terms of every schedule sum to its totals and to those of each kernel; formulas of sizes evaluate to the "
    "bytes") {
  const HardwareProfile h200 = find_profile("h200_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
  int evaluated = 0;
  std::set<std::string> kinds;
  for (const Case& c : cases)
    for (const char* mask : {"none", "causal", "window:100"})
      for (const Workload& workload : {Workload{2, 8, 2, 300, 1000, 64, 128}, Workload{1, 4, 4, 512, 512, 64, 64}}) {
        const Plan plan = load_plan_for_schedule(c.schedule, TILESCOPE_SOURCE_DIR, c.diagram);
        CAPTURE(c.schedule);
        CAPTURE(c.diagram);
        CAPTURE(mask);
        Point point = default_point(plan);
        point.workload = workload, point.mask = *parse_mask(mask);
        Prediction prediction;
        predict(plan, h200, point, prediction);
        const Json json = to_json(plan, h200, point, prediction);
        Json totals = Json::object();
        for (const Json& term : json["terms"]) add(totals, term);
        for (const Json& level : json["traffic"])
          for (const std::string direction : {"read", "write"})
            CHECK(totals.value(level["level"].get<std::string>() + direction, std::int64_t{0}) ==
                  level[direction + "_bytes"].get<std::int64_t>());
        std::int64_t hbm = 0, l2 = 0;
        double seconds = 0;
        for (const Json& kernel : json["kernels"])
          hbm += kernel["hbm_bytes"].get<std::int64_t>(), l2 += kernel["l2_bytes"].get<std::int64_t>(),
              seconds += kernel["seconds"].is_null() ? 0 : kernel["seconds"].get<double>();
        CHECK(hbm == prediction.traffic.both(LevelId::hbm));
        CHECK(l2 == prediction.traffic.both(LevelId::l2));
        if (prediction.feasible) CHECK(seconds + prediction.time.cold_launch == doctest::Approx(prediction.time.cold));
        else CHECK(seconds == 0);
        const FormulaNames names = sizes_of(plan.schedule.diagram, workload);
        for (const Json& term : json["terms"]) {
          if (!check_formula(term, names, point.warps)) continue;
          kinds.insert(term["boundary"].get<std::string>() + term["direction"].get<std::string>());
          ++evaluated;
        }
      }
  MESSAGE("formulas evaluated: " << evaluated);
  CHECK(evaluated > 800);
  CHECK(kinds == std::set<std::string>{"hbmread", "hbmwrite", "l2read", "l2write", "smemread", "smemwrite"});
}

TEST_CASE(
    "the loops named as the cause of a term are loops of its schedule; chunks are named by the axis that they divide") {
  const Plan plan = load_plan_for_schedule("split-kv", TILESCOPE_SOURCE_DIR);
  Point point = default_point(plan);
  point.workload = {1, 1, 1, 16, 4096, 64, 64};
  Prediction prediction;
  predict(plan, HardwareProfile{}, point, prediction);
  std::map<std::string, std::string> found;
  for (const Term& term : prediction.terms)
    if (term.array >= 0 && term.boundary == Boundary::l2)
      found[plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)].name + " " + to_string(term.direction)] =
          join(because(plan, point, term), "; ");
  CHECK(found["Q read"] == "x:group(8 parts) repeats it");
  CHECK(found["K read"] == "x:group(8 parts) cuts it; x:stream(128) cuts it");
  CHECK(found["O_part read"] == "x:stream(8 parts) cuts it");
}

TEST_CASE("a note says when a host takes longer to launch the kernels than the GPU to run them") {
  const HardwareProfile hardware = find_profile("h100_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
  const Plan plan = load_plan_for_kernel("split_kv", TILESCOPE_SOURCE_DIR);
  int shorter = 0, longer = 0;
  for (std::int64_t keys = 256; keys <= 262144; keys *= 4) {
    Point point = default_point(plan);
    point.workload = {1, 8, 2, 1, keys, 128, 128};
    const Prediction prediction = predict(plan, hardware, point);
    REQUIRE(prediction.feasible);
    CHECK(prediction.time.host == 2 * hardware.measured->launch.host_interval->value);
    CHECK(host_text(prediction).empty() == (prediction.time.total >= prediction.time.host));
    if (host_text(prediction).empty()) ++longer;
    else ++shorter;
  }
  CHECK(shorter > 0);
  CHECK(longer > 0);
  CHECK(host_text(predict(plan, HardwareProfile{}, default_point(plan))).empty());
}

TEST_CASE("a note says when the measured bandwidth of HBM contradicts the datasheet's, and no shipped profile does") {
  const std::string folder = std::string(TILESCOPE_SOURCE_DIR) + "/hardware";
  for (const HardwareProfile& each : list_profiles(folder)) CHECK(bandwidth_text(each).empty());
  for (const char* id : {"h200_sxm", "a100_sxm_80"})
    for (const double factor : {0.5, 1.5, 3.0}) {
      HardwareProfile gpu = find_profile(id, folder);
      REQUIRE(gpu.measured);
      for (MemoryLevel& level : gpu.levels)
        if (level.id == LevelId::hbm) level.bandwidth_bytes_per_second->value *= factor;
      const std::string text = bandwidth_text(gpu);
      CHECK(text.empty() == (factor == 1.5));
      if (factor == 3) CHECK(text.find("times use the measured one") != std::string::npos);
    }
}

TEST_CASE("pseudocode names each level, the bytes of a step and the feature that moves them") {
  const auto has = [](const std::string& text, const std::string& part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
  };
  const std::string hardware = std::string(TILESCOPE_SOURCE_DIR) + "/hardware";
  const Plan backward = load_plan_for_schedule("flash2-backward", TILESCOPE_SOURCE_DIR);
  Point point = default_point(backward);
  point.workload = {1, 1, 1, 1024, 1024, 64, 64};
  const std::string text = pseudocode(backward, find_profile("a100_sxm_80", hardware), point);
  for (const char* kernel : {"kernel preprocess: 16 blocks", "kernel main: 8 blocks", "kernel convert: 16 blocks"})
    has(text, kernel);
  has(text, "load K[b, k, x, d]");
  has(text, "l2 -> smem, 16,384 bytes, cp.async");
  has(text, "dQ_acc = 0 in memory");
  has(text, "dQ_acc += dQ[b, k, r, q, d]");
  has(text, "16,384 bytes, atomic addition");
  has(text, "D[b, k, r, q] = sum over e of O*dO");
  has(text, "P[b, k, r, q, x] = exp(S - L)");
  has(text, "1,048,576 FLOP, 256 matrix instructions m16n8k16");
  has(text, "dQ[b, k, r, q, d] = dQ_acc");
  has(text, "allocate registers");
  const std::string old_gpu = pseudocode(backward, find_profile("v100_sxm2", hardware), point);
  has(old_gpu, "l2 -> smem, 16,384 bytes, load through registers");
  const Plan flash1 = load_plan_for_schedule("flash1", TILESCOPE_SOURCE_DIR);
  Point first = default_point(flash1);
  first.workload = {1, 1, 1, 1024, 1024, 64, 64};
  const std::string streamed = pseudocode(flash1, HardwareProfile{}, first);
  for (const char* part :
       {"load O[b, k, r, q, e]; at the first visit 0", "load m[b, k, r, q]; at the first visit -infinity",
        "A[b, k, r, q, x] = exp(S - m_tile)", "l[b, k, r, q] = l * scale + l_tile*shared", "store m[b, k, r, q]"})
    has(streamed, part);
}

TEST_CASE("pseudocode starts, repairs and finishes the running state; a merge does so with the parts") {
  const Plan plan = load_plan_for_schedule("split-kv", TILESCOPE_SOURCE_DIR);
  Point point = default_point(plan);
  point.workload = {1, 1, 1, 16, 4096, 64, 64}, point.mask = *parse_mask("causal");
  const std::string text = pseudocode(plan, HardwareProfile{}, point);
  const std::size_t merge = text.find("kernel combine");
  REQUIRE(merge != std::string::npos);
  const auto in_order = [](const std::string& where, std::initializer_list<const char*> parts) {
    std::size_t at = 0;
    for (const char* part : parts) {
      at = where.find(part, at);
      CHECK_MESSAGE(at != std::string::npos, part);
    }
  };
  in_order(text.substr(0, merge),
           {"O_part = 0, L_part = -infinity where nothing is live", "m[b, k, r, q] = -infinity", "l[b, k, r, q] = 0",
            "for x in its part", "m[b, k, r, q] = max(m, max over x of S where live)", "A[b, k, r, q, x] = exp(S - m')",
            "l * scale + sum over x of A where live", "O * scale + sum over x of A*V", "L[b, k, r, q] = m + log(l)",
            "store L[b, k, r, q] as L_part", "O[b, k, r, q, e] = O/l, 0 where nothing was live",
            "store O[b, k, r, q, e] as O_part"});
  in_order(text.substr(merge),
           {"m[b, k, r, q] = -infinity", "for part of x in 8 parts", "load L_part", "max over x_chunks of L_part",
            "load O_part", "O[b, k, r, q, e] = O/l", "store O[b, k, r, q, e]"});
}

TEST_CASE("pseudocode of every shipped schedule and kernel is a program that ran under every mask") {
  const std::string source = TILESCOPE_SOURCE_DIR;
  std::vector<Plan> plans;
  for (const std::string& name : shipped_names(source + "/models/implementations"))
    plans.push_back(load_plan_for_schedule(name, source));
  for (const auto& [name, file] : shipped_kernels(source + "/kernels"))
    plans.push_back(load_plan_for_kernel(name, source));
  for (const Plan& plan : plans)
    for (const char* mask : {"none", "causal", "window:100", "prefix:50"}) {
      if (*mask != 'n' && !plan.schedule.source.guard) continue;
      Point point = default_point(plan);
      point.workload = {1, 2, 2, 300, 300, 128, 128}, point.mask = *parse_mask(mask);
      CAPTURE(plan.kernel.name);
      CHECK(pseudocode(plan, HardwareProfile{}, point).find("store ") != std::string::npos);
    }
}

}  // namespace tilescope::explain_test
