// Searching the tiles of any schedule: which sizes are tried, that none is missed or repeated, and what is best.
#include "search/search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "base/test_seed.h"
#include "hardware/derived.h"
#include "predict/predict.h"
#include "search/candidates.h"

namespace tilescope::search_test {
namespace {

const HardwareProfile& h200() {
  static const HardwareProfile profile = find_profile("h200_sxm", std::string(TILESCOPE_SOURCE_DIR) + "/hardware");
  return profile;
}

Point point_of(const Plan& plan, const Workload& workload) {
  Point point = default_point(plan);
  point.workload = workload;
  return point;
}

std::vector<std::int64_t> candidates_of(const Plan& plan, const Point& point, const char* parameter) {
  return tile_candidates(plan, h200(), point)[static_cast<std::size_t>(plan.schedule.find_parameter(parameter))];
}

using Tiles = std::vector<std::int64_t>;
Tiles tiles_of(const Plan& plan, const Point& point) {
  Tiles tiles(point.tiles.begin(), point.tiles.begin() + static_cast<std::ptrdiff_t>(plan.schedule.parameters.size()));
  tiles.push_back(point.warps);
  return tiles;
}

}  // namespace

TEST_CASE("where a descriptor says how warps share a product, the tiles that its grid covers are tried") {
  Plan plan = load_plan_for_kernel("split_kv", TILESCOPE_SOURCE_DIR);  // 4 warps share 16 rows and the keys of a tile
  plan.kernel.variants.clear();
  const int q = plan.schedule.find_parameter("q"), kv = plan.schedule.find_parameter("kv");
  std::mt19937 random(test_seed());
  for (int i = 0; i < 20; ++i) {
    const auto rows = std::uniform_int_distribution<std::int64_t>(17, 4096)(random);
    const std::vector<Point> points =
        search_points(plan, h200(), point_of(plan, {1, 8, 8, rows, 4096, 128, 128}), {}, nullptr);
    CHECK(std::any_of(points.begin(), points.end(), [&](const Point& point) {
      return point.tiles[static_cast<std::size_t>(q)] == 16 && point.warps == 4;
    }));
    for (const Point& point : points) CHECK((point.warps == 4 && point.tiles[static_cast<std::size_t>(kv)] % 64 == 0));
  }
}

TEST_CASE("the candidates of a parameter depend on the axis that it tiles") {
  const Plan flash2 = load_plan_for_schedule("flash2", TILESCOPE_SOURCE_DIR),
             split = load_plan_for_schedule("split-kv", TILESCOPE_SOURCE_DIR);
  const Tiles all{16, 32, 48, 64, 96, 128, 192, 256};
  const Point long_heads = point_of(flash2, {1, 8, 8, 4096, 4096, 128, 128});
  CHECK(candidates_of(flash2, long_heads, "q") == all);
  CHECK(candidates_of(flash2, long_heads, "kv") == all);
  CHECK(candidates_of(flash2, long_heads, "pack") == Tiles{1});
  const Point few_keys = point_of(flash2, {1, 8, 8, 1, 20, 128, 128});
  CHECK(candidates_of(flash2, few_keys, "kv") == Tiles{16, 32});         // 20 rounded up
  CHECK(candidates_of(flash2, few_keys, "q") == Tiles{16, 32, 48, 64});  // four warps have 64 rows
  const Point grouped = point_of(split, {1, 32, 8, 1, 4096, 128, 128});
  CHECK(candidates_of(split, grouped, "pack") == Tiles{1, 2, 4});
  CHECK(candidates_of(split, grouped, "q") == Tiles{4, 8, 12, 16, 24, 32, 48, 64});
  CHECK(candidates_of(split, grouped, "splits") ==
        Tiles{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128});  // 132 SMs
  CHECK(candidates_of(split, point_of(split, {1, 32, 8, 1, 40, 128, 128}), "splits") ==
        Tiles{1, 2, 3});  // ceil(40 / 16) parts
  const Point odd_group = point_of(split, {1, 28, 4, 1, 4096, 128, 128});
  CHECK(candidates_of(split, odd_group, "pack") == Tiles{1, 7, 8});  // 7 heads in 8 rows
  CHECK(candidates_of(split, point_of(split, {1, 71, 1, 1, 4096, 128, 128}), "pack") == Tiles{1, 71, 96, 128});
  const Plan standard = load_plan_for_schedule("standard", TILESCOPE_SOURCE_DIR);
  CHECK(candidates_of(standard, point_of(standard, {1, 8, 8, 4096, 4096, 128, 128}), "softmax_rows") ==
        Tiles{1});  // cuts no matrix operand
  Plan matmul = load_plan_for_schedule("matmul", TILESCOPE_SOURCE_DIR);
  set_size(matmul.schedule.diagram, "b", 48);
  CHECK(candidates_of(matmul, default_point(matmul), "a") == all);
  CHECK(candidates_of(matmul, default_point(matmul), "b") == Tiles{16, 32, 48});
}

TEST_CASE("every searched point is whole matrix instructions and warps, none twice, within the bound") {
  for (const char* name : {"standard", "flash1", "flash1-printed", "flash2", "split-kv", "flash1-backward",
                           "flash2-backward", "flash2-backward-split", "matmul"}) {
    CAPTURE(name);
    const Plan plan = load_plan_for_schedule(name, TILESCOPE_SOURCE_DIR);
    for (const Workload& workload : {Workload{1, 8, 2, 1024, 2048, 128, 128}, Workload{1, 8, 8, 1, 1000, 64, 64}}) {
      const std::vector<Point> points = search_points(plan, h200(), point_of(plan, workload), {}, nullptr);
      CHECK(!points.empty());
      CHECK(points.size() <= most_search_points);
      std::set<Tiles> seen;
      for (const Point& point : points) {
        CHECK(seen.insert(tiles_of(plan, point)).second);
        CHECK(TileRules(plan, point.workload).fit(point, WarpLayout::own_rows));
      }
    }
  }
}

TEST_CASE("a tile that does not fit is found without its counts, and one that fits is predicted as ever") {
  std::mt19937 random(test_seed());
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  const std::string source = TILESCOPE_SOURCE_DIR;
  const std::vector<std::string> schedules = shipped_names(source + "/models/schedules");
  const std::vector<HardwareProfile> gpus = list_profiles(source + "/hardware");
  Prediction whole, early;
  std::size_t fit = 0, all = 0;
  for (int draw = 0; draw < 40; ++draw) {
    const Plan plan = load_plan_for_schedule(schedules[below(schedules.size())], source);
    const HardwareProfile& gpu = gpus[below(gpus.size())];
    const std::int64_t heads_kv = 1 + static_cast<std::int64_t>(below(4)),
                       keys = 1 + static_cast<std::int64_t>(below(5000)), head_dim = below(2) == 0 ? 64 : 128;
    Point base = point_of(plan, {2, heads_kv * (1 + static_cast<std::int64_t>(below(8))), heads_kv,
                                 std::min<std::int64_t>(keys, below(2) == 0 ? 1 : 2000), keys, head_dim, head_dim});
    if (below(2) == 0) base.mask = *parse_mask("causal");
    CAPTURE(plan.schedule.name);
    CAPTURE(gpu.id);
    const std::vector<Point> points = search_points(plan, gpu, base, {}, nullptr);
    const SearchResult ranked = search_tiles(plan, gpu, base);
    const auto best = best_by_closed_form(plan, gpu, base);
    REQUIRE(best.has_value() == !ranked.feasible.empty());
    if (best) CHECK(tiles_of(plan, *best) == tiles_of(plan, ranked.feasible.front().point));
    for (int i = 0; i < 20 && !points.empty(); ++i) {
      const Point& point = points[below(points.size())];
      predict(plan, gpu, point, whole);
      const bool fits = std::all_of(whole.footprint.begin(), whole.footprint.end(),
                                    [](const FootprintRow& row) { return row.fits(); });
      CHECK(predict_if_it_fits(plan, gpu, point, early) == fits);
      REQUIRE(early.footprint.size() == whole.footprint.size());
      for (std::size_t row = 0; row < whole.footprint.size(); ++row) {
        CHECK(early.footprint[row].bytes == whole.footprint[row].bytes);
        CHECK(early.footprint[row].level == whole.footprint[row].level);
        CHECK(early.footprint[row].capacity_bytes == whole.footprint[row].capacity_bytes);
      }
      ++all, fit += fits;
      if (!fits) continue;
      CHECK(early.time.total == whole.time.total);
      CHECK(early.runnable == whole.runnable);
      CHECK(early.traffic.both(LevelId::hbm) == whole.traffic.both(LevelId::hbm));
    }
  }
  CHECK(fit > 0);
  CHECK(fit < all);
}

TEST_CASE("the search finds the best of all multiples of 16 that are among its candidates") {
  // The reference tries all 16 x 16 tiles of forward and backward attention, without the candidate rules of the search.
  for (const char* name : {"flash2", "flash1", "flash2-backward", "flash1-backward"}) {
    CAPTURE(name);
    const Plan plan = load_plan_for_schedule(name, TILESCOPE_SOURCE_DIR);
    const Point base = point_of(plan, {1, 16, 16, 2048, 2048, 64, 64});
    const SearchResult result = search_tiles(plan, h200(), base);
    REQUIRE(!result.feasible.empty());
    const std::set<std::int64_t> tried{16, 32, 48, 64, 96, 128, 192, 256};
    double best = 1e9, best_tried = 1e9;
    Prediction prediction;
    for (std::int64_t q = 16; q <= 256; q += 16)
      for (std::int64_t kv = 16; kv <= 256; kv += 16)
        for (const std::int64_t warps : {4, 8, 12}) {
          Point point = base;
          point.tiles[0] = q, point.tiles[1] = kv, point.warps = warps;
          if (q % (16 * warps) != 0) continue;
          predict(plan, h200(), point, prediction);
          if (!prediction.feasible) continue;
          best = std::min(best, busy_seconds(h200(), prediction));
          if (tried.contains(q) && tried.contains(kv))
            best_tried = std::min(best_tried, busy_seconds(h200(), prediction));
        }
    CHECK(result.feasible.front().busy_seconds == doctest::Approx(best_tried));
    CHECK(result.feasible.front().busy_seconds <= 1.3 * best);  // what the sizes in between would save
  }
}

TEST_CASE("fixed parameters keep their value, progress counts to the end, and each point is judged once") {
  const Plan plan = load_plan_for_schedule("split-kv", TILESCOPE_SOURCE_DIR);
  Point base = point_of(plan, {1, 32, 8, 1, 4096, 128, 128});
  const auto splits = static_cast<std::size_t>(plan.schedule.find_parameter("splits"));
  base.tiles[splits] = 5;
  std::size_t last = 0, all = 0;
  const SearchOptions options{.fixed = {static_cast<int>(splits)}, .progress = [&](std::size_t done, std::size_t of) {
                                CHECK(done > last);  // several at once
                                last = done, all = of;
                              }};
  const SearchResult result = search_tiles(plan, h200(), base, options);
  CHECK(last == all);
  CHECK(result.feasible.size() + result.infeasible.size() == all);
  CHECK(!result.thinned);
  REQUIRE(!result.feasible.empty());
  for (const Candidate& candidate : result.feasible) CHECK(candidate.point.tiles[splits] == 5);
  for (const FellOut& fallen : result.infeasible)
    CHECK(static_cast<double>(fallen.row.bytes) > fallen.row.capacity_bytes);
}

TEST_CASE("where no size suits every product, the schedule's own tile is the one that is tried") {
  const Plan plan = load_plan_for_schedule("standard-backward", TILESCOPE_SOURCE_DIR);
  Point base = point_of(plan, {1, 4, 4, 2, 1, 80, 80});  // 16 keys by 80 columns are 10 pieces: none for four warps
  CHECK(search_points(plan, h200(), base, {}, nullptr).empty());
  const SearchResult result = search_tiles(plan, h200(), base);
  REQUIRE(result.feasible.size() == 1);
  CHECK(tiles_of(plan, result.feasible.front().point) == tiles_of(plan, base));
  const auto best = best_by_closed_form(plan, h200(), base);
  REQUIRE(best.has_value());
  CHECK(tiles_of(plan, *best) == tiles_of(plan, base));
}

TEST_CASE("few queries over many keys are split over the SMs, and many queries are not") {
  const Plan plan = load_plan_for_schedule("split-kv", TILESCOPE_SOURCE_DIR);
  const auto splits = static_cast<std::size_t>(plan.schedule.find_parameter("splits"));
  const SearchResult decode = search_tiles(plan, h200(), point_of(plan, {1, 8, 8, 1, 65536, 128, 128}));
  REQUIRE(!decode.feasible.empty());
  CHECK(decode.feasible.front().point.tiles[splits] > 1);
  CHECK(decode.feasible.front().busy_seconds >= decode.feasible.front().seconds);
  const SearchResult prefill = search_tiles(plan, h200(), point_of(plan, {4, 32, 32, 4096, 4096, 128, 128}));
  REQUIRE(!prefill.feasible.empty());
  CHECK(prefill.feasible.front().point.tiles[splits] == 1);
}

TEST_CASE("decoding takes no longer with fewer query heads a KV head") {
  std::mt19937 random(test_seed());
  const auto within = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const Plan plan = load_plan_for_schedule("split-kv", TILESCOPE_SOURCE_DIR);
  const std::string hardware = std::string(TILESCOPE_SOURCE_DIR) + "/hardware";
  for (const char* gpu : {"h200_sxm", "h100_sxm", "a100_sxm_80", "l40s"}) {
    const HardwareProfile profile = ProfileCatalogue(hardware).find(gpu, RatesFrom::derived);
    for (int draw = 0; draw < 2; ++draw) {
      const std::int64_t power = std::int64_t{1} << within(2, 6), heads = within(power / 2 + 1, power),
                         batch = within(1, 64), keys = within(1024, 32768);
      const auto seconds = [&](std::int64_t group) {
        const SearchResult result = search_tiles(plan, profile, point_of(plan, {batch, group, 1, 1, keys, 128, 128}));
        REQUIRE(!result.feasible.empty());
        return result.feasible.front().busy_seconds;
      };
      CAPTURE(gpu);
      CAPTURE(heads);
      CAPTURE(power);
      CHECK(seconds(heads) <= 1.01 * seconds(power));
    }
  }
}

TEST_CASE("the best matmul tile is near the square that the bound asks for") {
  const Plan plan = load_plan_for_schedule("matmul", TILESCOPE_SOURCE_DIR);
  const SearchResult result = search_tiles(plan, h200(), default_point(plan));
  REQUIRE(!result.feasible.empty());
  const auto& tiles = result.feasible.front().point.tiles;
  CHECK(std::min(tiles[0], tiles[1]) >= 96);
  CHECK(std::max(tiles[0], tiles[1]) <= 256);
  for (const FellOut& fallen : result.infeasible) CHECK(std::string(fallen.row.largest) != "");
}

}  // namespace tilescope::search_test
