// Points of a sweep share what their blocks have in common: each is predicted as if it were alone.
#include <doctest/doctest.h>

#include <random>

#include "base/test_seed.h"
#include "predict/predict.h"
#include "request/sweep/grid.h"

namespace block_memory_test {

using namespace tilescope;

namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

template <class Value>
const Value& one_of(const std::vector<Value>& values, std::mt19937& random) {
  return values[random() % values.size()];
}

// Axes of every kind that changes a block, in a random order, so that any of them changes fastest.
Given drawn_question(std::mt19937& random) {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> plans{
      {"schedule", {"flash1", "flash2", "standard", "split-kv", "flash2-backward", "flash2-backward-split"}},
      {"kernel", {"fused_mma", "split_kv", "case_study", "flash1", "pytorch_flash2"}}};
  Given given{{"hardware", one_of<std::string>({"h200_sxm", "a100_sxm_80", "b200_sxm"}, random)},
              {"l2", "closed"},
              {"mask", one_of<std::string>({"none", "causal", "window:300"}, random)},
              {"heads", "8"},
              {"tile", "first"},
              {"seed", std::to_string(random() % 1000)},
              {"random", "24"}};
  const auto& [option, names] = one_of(plans, random);
  const std::string plan = one_of(names, random);
  given.emplace_back(option, plan);
  std::vector<std::string> axes{"q_len=1:3000:x3", "batch=1,2,5", "head_dim=64,128"};
  if (option == "schedule" && plan.find("backward") == std::string::npos) {
    axes.emplace_back("kv_len=16:9000:x5"), axes.emplace_back("warps=4,8");
    axes.emplace_back("dtype=fp16,int8:g64:b2,fp8_e4m3,int4:g32:b2");
    if (plan == "split-kv") axes.emplace_back("splits=1,3,8");
  }
  std::shuffle(axes.begin(), axes.end(), random);
  for (const std::string& axis : axes) given.emplace_back("axis", axis);
  return given;
}

bool same(const std::vector<Term>& a, const std::vector<Term>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Term& x, const Term& y) {
    return x.boundary == y.boundary && x.direction == y.direction && x.cause == y.cause && x.array == y.array &&
           x.last_loop == y.last_loop && x.fits_cache == y.fits_cache && x.bytes == y.bytes;
  });
}

}  // namespace

TEST_CASE("a point of a sweep is predicted as the same point alone") {
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  int points = 0;
  for (int i = 0; i < 40; ++i) {
    const Given given = drawn_question(random);
    std::string text;
    for (const auto& [name, value] : given) text += "--" + name + " " + value + " ";
    INFO(text);
    try {
      const SweepGrid grid(checked_options(given, point_options() + sweep_axis_options()));
      each_point(grid, [&](const SweptPoint& swept) {
        if (!swept.predicted()) return;
        const Prediction& shared = *swept.predicted();
        const Prediction alone = predict(*swept.of->plan, *swept.of->hardware, swept.point);
        CHECK(same(shared.terms, alone.terms));
        CHECK(shared.compulsory_bytes == alone.compulsory_bytes);
        CHECK(shared.time.total == alone.time.total);
        CHECK(shared.feasible == alone.feasible);
        REQUIRE(shared.footprint.size() == alone.footprint.size());
        for (std::size_t row = 0; row < alone.footprint.size(); ++row)
          CHECK(shared.footprint[row].bytes == alone.footprint[row].bytes);
        ++points;
      });
    } catch (const InputError&) {  // not built for these formats or masks
    }
  }
  MESSAGE(points << " points");
  CHECK(points > 200);
}

}  // namespace block_memory_test
