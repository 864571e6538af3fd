// predict, sweep, search and compare give the same answer for the same point.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/test_seed.h"
#include "predict/predict.h"
#include "request/answer.h"
#include "request/choose_kernel.h"
#include "request/compared.h"
#include "request/option_specs.h"
#include "request/searched.h"
#include "request/sweep/grid.h"

namespace agreement_test {

using namespace tilescope;

namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

Options options_of(const Given& given) {
  return checked_options(given, point_options() + sweep_axis_options() + search_top_options());
}

template <class T>
T one_of(std::mt19937& random, std::initializer_list<T> choices) {
  return *(choices.begin() + std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random));
}

std::string length(std::mt19937& random) {
  return std::to_string(static_cast<int>(std::exp2(std::uniform_real_distribution<>(0, 13)(random))));
}

// A random point without a tile, of shipped GPUs, schedules and kernels, with odd lengths, masks and grouped heads.
Given random_point(std::mt19937& random) {
  const int heads_kv = one_of(random, {1, 2, 8}), group = one_of(random, {1, 4});
  const std::string keys = length(random);
  Given given{{"hardware", one_of<std::string>(random, {"h200_sxm", "h100_sxm", "a100_sxm_80", "l40s", "mi300x"})},
              {"batch", std::to_string(one_of(random, {1, 3, 16}))},
              {"heads-kv", std::to_string(heads_kv)},
              {"heads-q", std::to_string(heads_kv * group)},
              {"q-len", one_of<std::string>(random, {keys, "1", length(random)})},
              {"kv-len", keys},
              {"mask", one_of<std::string>(random, {"none", "none", "causal", "window:100"})}};
  const auto plan =
      one_of<std::string>(random, {"flash2", "flash1", "standard", "split-kv", "fused_mma", "fused_wgmma", "split_kv",
                                   "flash2-backward", "standard-backward", "flash2-backward-split"});
  const bool kernel = plan.find('_') != std::string::npos;
  const auto any_depth = one_of<std::string>(random, {"64", "128", "80", "24", "200"});
  given.emplace_back("head-dim", kernel ? one_of<std::string>(random, {"64", "128"}) : any_depth);
  given.emplace_back(kernel ? "kernel" : "schedule", plan);
  return given;
}

Given with(Given given, std::string name, std::string value) {
  given.emplace_back(std::move(name), std::move(value));
  return given;
}

bool same_tile(const Point& a, const Point& b) {
  return a.tiles == b.tiles && a.warps == b.warps && a.stages == b.stages;
}

// Checks that every number of the answer is finite and not negative.
void check_numbers(const Json& json, const std::string& place) {
  for (const auto& [key, value] : json.items()) {
    const std::string here = place + "." + key;
    if (value.is_structured()) check_numbers(value, here);
    if (!value.is_number()) continue;
    CAPTURE(here);
    CHECK(std::isfinite(value.get<double>()));
    CHECK(value.get<double>() >= 0);
  }
}

void check_sweep(const Given& given, const Answer& answered) {
  Given swept = given;
  std::erase_if(swept, [](const auto& option) { return option.first == "batch"; });
  const SweepGrid grid(options_of(with(swept, "axis", "batch=" + std::to_string(answered.point.workload.batch))));
  int points = 0;
  each_point(grid, [&](const SweptPoint& point) {
    ++points;
    REQUIRE(point.predicted() != nullptr);
    CHECK(same_tile(point.point, answered.point));
    CHECK(point.prediction.time.total == answered.prediction.time.total);
    CHECK(point.prediction.traffic == answered.prediction.traffic);
  });
  CHECK(points == 1);
}

void check_search(const Given& given, const Answer& answered) {
  const Searched found = search_of(options_of(given));
  if (found.result.feasible.empty()) {
    CHECK(!answered.prediction.feasible);
    return;
  }
  const Candidate& best = found.result.feasible.front();
  CHECK(same_tile(best.point, answered.point));
  CHECK(best.seconds == answered.prediction.time.total);
  const auto& hbm = answered.prediction.traffic[LevelId::hbm];
  CHECK(best.hbm_bytes == hbm[0] + hbm[1]);
  CHECK(best.model == model_name(answered.prediction));
  CHECK(best.basis == overall_basis(answered.hardware, answered.prediction));
  for (const Candidate& other : found.result.feasible)
    if (other.point.l2 == L2Model::walk) CHECK(best.busy_seconds <= other.busy_seconds);
}

void check_compare(const Given& given, const Answer& answered) {
  const Compared answer = compared(options_of(given));
  REQUIRE(answer.rows.size() == 1);
  const Json object = answer.json().at("rows").at(0);
  const Json& time = object.at("microseconds");
  CHECK(time.is_null() == !answered.prediction.feasible);  // a point that does not fit has no time
  if (!time.is_null())
    CHECK(time.get<double>() == doctest::Approx(answered.prediction.time.total * 1e6).epsilon(1e-12));
  const auto& hbm = answered.prediction.traffic[LevelId::hbm];
  CHECK(object.at("hbm_bytes").get<std::int64_t>() == hbm[0] + hbm[1]);
}

// Sizes for which the kernel is not launched: no command predicts them.
void check_refused_everywhere(const Given& given, const Answer& answered) {
  CHECK_FALSE(answered.prediction.feasible);
  CHECK(search_of(options_of(given)).outside == answered.outside);
  CHECK(compared(options_of(given)).json().at("rows").at(0).at("microseconds").is_null());
}

}  // namespace

// TILESCOPE_AGREEMENT_POINTS sets the number of points.
TEST_CASE("predict, sweep, search and compare agree on random points, and no number is negative") {
  const char* wanted = std::getenv("TILESCOPE_AGREEMENT_POINTS");
  const int most = wanted ? std::atoi(wanted) : 40;
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  int agreed = 0, refused = 0;
  for (int i = 0; i < most; ++i) {
    const Given given = random_point(random);
    std::string text;
    for (const auto& [name, value] : given) text += "--" + name + " " + value + " ";
    CAPTURE(text);
    try {
      const Answer answered = answer(options_of(given));
      if (!answered.outside.empty()) {
        check_refused_everywhere(given, answered);
        ++refused;
        continue;
      }
      check_numbers(to_json(answered.plan, answered.hardware, answered.point, answered.prediction, answered.options),
                    "");
      check_sweep(given, answered);
      check_search(given, answered);
      check_compare(given, answered);
      ++agreed;
    } catch (const InputError&) {  // the kernel cannot run the point: compare refuses it too
      CHECK_THROWS_AS(compared(options_of(given)), InputError);
      ++refused;
    }
  }
  MESSAGE(agreed << " points compared, " << refused << " refused");
  CHECK(agreed > most / 3);
}

TEST_CASE("--kernel auto gives the answer of the kernel that is the fastest when each is predicted by itself") {
  std::mt19937 random(test_seed() + 4);
  std::size_t compared = 0, kernels = 0;
  for (int draw = 0; draw < 8; ++draw) {
    const int heads_kv = one_of(random, {1, 4});
    const std::string keys = std::to_string(std::uniform_int_distribution<>(100, 1500)(random));
    const Given given{{"hardware", one_of<std::string>(random, {"h200_sxm", "h100_sxm", "a100_sxm_80", "l40s"})},
                      {"batch", std::to_string(one_of(random, {1, 3}))},
                      {"heads-kv", std::to_string(heads_kv)},
                      {"heads-q", std::to_string(heads_kv * one_of(random, {1, 4}))},
                      {"q-len", one_of<std::string>(random, {keys, "1"})},
                      {"kv-len", keys},
                      {"dtype", one_of<std::string>(random, {"fp16", "bf16", "fp16,kv=fp8_e4m3"})},
                      {"l2", one_of<std::string>(random, {"walk", "walk", "closed"})},
                      {"mask", one_of<std::string>(random, {"none", "causal"})}};
    std::optional<Answer> fastest;
    std::size_t run = 0;
    for (const std::string& kernel : kernels_of_diagram("attention")) {
      try {
        Answer a = answer_of_plan(options_of(with(given, "kernel", kernel)));
        if (!a.outside.empty() || !a.prediction.feasible) continue;
        ++run;
        if (!fastest || a.prediction.time.total < fastest->prediction.time.total) fastest = std::move(a);
      } catch (const InputError&) {  // not built for the point
      }
    }
    const Answer chosen = answer(options_of(with(given, "kernel", "auto")));
    REQUIRE(chosen.prediction.feasible == fastest.has_value());
    if (!fastest) continue;
    Json answer = chosen.json();
    CHECK(answer["chosen"].get<std::string>().find(fmt::format("fastest of {} kernels", run)) != std::string::npos);
    answer.erase("chosen");
    CHECK(answer == fastest->json());
    ++compared, kernels += run;
  }
  CHECK(compared >= 4);
  CHECK(kernels > 6 * compared);
}

TEST_CASE("the merge of a split reads exactly what the parts wrote, including parts without a visible key") {
  for (const std::string mask : {"none", "causal", "window:256", "window:1"})
    for (const std::string splits : {"1", "3", "16"}) {
      CAPTURE(mask);
      CAPTURE(splits);
      const Answer answered = answer(options_of({{"hardware", "h200_sxm"},
                                                 {"schedule", "split-kv"},
                                                 {"heads-q", "4"},
                                                 {"heads-kv", "1"},
                                                 {"q-len", "2"},
                                                 {"kv-len", "4100"},
                                                 {"mask", mask},
                                                 {"tile", "q=16,kv=16,pack=4,warps=4,splits=" + splits}}));
      const auto& launches = answered.prediction.islands;
      REQUIRE(launches.size() == 2);
      const std::int64_t written = launches[0].traffic[LevelId::l2][1], read = launches[1].traffic[LevelId::l2][0];
      CHECK(read > 0);
      CHECK(written == read);
    }
}

TEST_CASE("points that fit no memory, register file or launch are infeasible or refused, and say why") {
  const Given base{{"hardware", "h200_sxm"}, {"heads-q", "16"}, {"head-dim", "128"}};
  const Answer huge = answer(options_of(with(with(base, "q-len", "1m"), "schedule", "standard")));
  CHECK(!huge.prediction.feasible);
  CHECK(huge.prediction.footprint.back().level == Boundary::hbm);
  CHECK(huge.prediction.footprint.back().bytes > 2LL * 16 * (1LL << 40));  // S and P of 16 heads, 2 bytes each
  const Answer streamed = answer(options_of(with(with(base, "q-len", "1m"), "schedule", "flash2")));
  CHECK(streamed.prediction.feasible);
  CHECK_THROWS_WITH_AS(answer(options_of(with(with(base, "q-len", "4k"), "tile", "q=640,kv=64,warps=40"))),
                       doctest::Contains("1280 threads; h200_sxm takes at most 1024"), InputError);
  const Answer wide = answer(options_of(with(with(base, "q-len", "4k"), "tile", "q=512,kv=128,warps=16")));
  CHECK(!wide.prediction.feasible);  // 512 x 128 fp32 values of O fill the register file of an SM
  for (const std::string gpu : {"b200_sxm", "rtx5090", "a100_sxm_80"})
    CHECK_THROWS_AS(answer(options_of({{"hardware", gpu}, {"kernel", "fused_wgmma"}, {"q-len", "4k"}})), InputError);
}

TEST_CASE("a diagram's own sizes hold where no option or workload gives others") {
  const auto sizes = [](const Given& more) {
    Given given{{"hardware", "a100_sxm_80"}, {"diagram", "mla_absorbed"}, {"tile", "q=16,kv=16,pack=1,warps=4"}};
    given.insert(given.end(), more.begin(), more.end());
    return answer(options_of(given)).point.workload;
  };
  const Workload latent = sizes({{"heads-q", "128"}, {"q-len", "1"}, {"kv-len", "8k"}});
  CHECK(latent.heads_q == 128);
  CHECK(latent.heads_kv == 1);
  CHECK(latent.d_qk == 576);
  CHECK(latent.d_v == 512);
  CHECK(sizes({{"heads-q", "128"}, {"heads-kv", "2"}, {"q-len", "1"}}).heads_kv == 2);
  CHECK(sizes({{"head-dim", "320"}, {"v-head-dim", "256"}, {"q-len", "1"}}).d_v == 256);
  CHECK(sizes({{"workload", "deepseek-v3-decode"}}).batch == 32);
}

TEST_CASE("a rate that the profile lacks and the kernel needs is named") {
  const auto missing = [](const std::string& kernel, const HardwareProfile& gpu) {
    const Answer answered =
        answer(options_of({{"hardware", "h200_sxm"}, {"kernel", kernel}, {"q-len", "4k"}, {"head-dim", "128"}}));
    const Prediction prediction = predict(answered.plan, gpu, answered.point);
    return to_json(answered.plan, gpu, answered.point, prediction)["time"]["missing"];
  };
  HardwareProfile gpu = find_profile("h200_sxm", data_directory() / "hardware");
  CHECK(missing("backward", gpu) == Json::array());
  gpu.l2_ways.reset(), gpu.measured->atomics.red_fp32.reset();
  const Json ways = "levels.l2.ways of h200_sxm", reductions = "measured.atomics.red_fp32 of h200_sxm";
  CHECK(missing("backward", gpu) == Json::array({ways, reductions}));
  CHECK(missing("fused_wgmma", gpu) == Json::array({ways}));
}

}  // namespace agreement_test
