// The tile that the walk ranks first is found without walking tiles whose lower bound is above another's time.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "base/contains.h"
#include "base/test_seed.h"
#include "predict/predict.h"
#include "search/search.h"

namespace find_first_test {

using namespace tilescope;

TEST_CASE("the tile found first is that of ranking all, and no walk is faster than its lower bound") {
  const std::string source = TILESCOPE_SOURCE_DIR;
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  const auto one_of = [&](const auto& values) { return values[random() % values.size()]; };
  const std::vector<std::string> kernels{"fused_mma", "fused_mma", "flash1",    "backward",     "case_study",
                                         "split_kv",  "fused_fp8", "reference", "block_sparse", "pytorch_flash2"};
  const std::vector<HardwareProfile> gpus{find_profile("h200_sxm", source + "/hardware"),
                                          find_profile("h100_sxm", source + "/hardware")};
  std::size_t walked = 0, asked = 0;
  for (int draw = 0; draw < 24; ++draw) {
    const Plan plan = load_plan_for_kernel(one_of(kernels), source);
    const HardwareProfile& gpu = one_of(gpus);
    Point base = default_point(plan);
    const std::int64_t heads_kv = one_of(std::vector<std::int64_t>{1, 4, 8}),
                       group = one_of(std::vector<std::int64_t>{1, 1, 4}),
                       length = one_of(std::vector<std::int64_t>{100, 512, 1000, 2048, 3000});
    const std::int64_t queries = plan.kernel.name == "split_kv" ? 1 : length;
    base.workload = {
        1 + static_cast<std::int64_t>(random() % 3), heads_kv * group, heads_kv, queries, length, 128, 128};
    if (random() % 2 == 0 && contains(plan.kernel.masks, MaskKind::causal)) base.mask = *parse_mask("causal");
    base.l2 = L2Model::walk;
    CAPTURE(plan.kernel.name);
    CAPTURE(gpu.id);
    CAPTURE(length);
    CAPTURE(base.mask.text);
    const SearchResult closed = rank_by_closed_form(plan, gpu, base);
    SearchResult all = closed, first = closed;
    rank_by_walk(plan, gpu, base, 0, all);
    find_first_by_walk(plan, gpu, base, first);
    REQUIRE(first.first.has_value() == all.first.has_value());
    if (!all.first) continue;
    const Point &found = first.feasible.front().point, &wanted = all.feasible.front().point;
    CHECK(found.tiles == wanted.tiles);
    CHECK(found.warps == wanted.warps);
    CHECK(found.stages == wanted.stages);
    CHECK(first.first->time.total == all.first->time.total);
    CHECK(first.first->time.gain == all.first->time.gain);
    CHECK(first.first->traffic.both(LevelId::hbm) == all.first->traffic.both(LevelId::hbm));
    for (const Candidate& each : all.feasible) {
      if (each.point.l2 != L2Model::walk) continue;
      const Prediction least = predict_at_least(plan, gpu, each.point);
      CHECK(busy_seconds(gpu, least) <= each.busy_seconds * 1.0001);
      CHECK(least.traffic.both(LevelId::hbm) <= each.hbm_bytes);
      ++walked;
    }
    for (const Candidate& each : first.feasible) asked += each.point.l2 == L2Model::walk;
  }
  MESSAGE(walked << " walked, " << asked << " of them where only the first is asked for");
  CHECK(asked < walked);
}

}  // namespace find_first_test
