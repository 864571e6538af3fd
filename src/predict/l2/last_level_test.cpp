// Traffic of several L2s and of a last-level cache against a walk written here, and its properties.
#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <random>
#include <set>

#include "base/test_seed.h"
#include "predict/l2/walk/random_order.h"
#include "predict/point/order/block_order.h"
#include "predict/predict.h"

namespace tilescope::last_level_test {
namespace {

const std::filesystem::path levels_root = TILESCOPE_SOURCE_DIR;

HardwareProfile with_caches(std::int64_t units, std::int64_t caches, std::int64_t dealt, double l2, double last_level) {
  HardwareProfile gpu = find_profile("mi300x", levels_root / "hardware");
  gpu.units.value = units, gpu.l2_caches->value = caches, gpu.l2_dealt_blocks->value = dealt;
  gpu.l2_ways.reset(), gpu.llc_ways.reset();
  for (MemoryLevel& level : gpu.levels) {
    if (level.id == LevelId::l2) level.capacity_bytes->value = l2 * static_cast<double>(caches);
    if (level.id == LevelId::llc) level.capacity_bytes->value = last_level;
  }
  return gpu;
}

using Tile = std::array<std::int64_t, 4>;  // array, batch and head, place
constexpr std::int64_t result = 2;         // of the arrays: queries 0, keys with their values 1
struct RecentTiles {
  std::int64_t tiles;  // that fit
  std::list<Tile> list{};
  std::vector<Tile> dropped{};  // by the last use
  bool use(const Tile& tile) {  // whether it was there
    const auto found = std::find(list.begin(), list.end(), tile);
    const bool hit = found != list.end();
    if (hit) list.erase(found);
    list.push_front(tile);
    dropped.clear();
    if (static_cast<std::int64_t>(list.size()) > tiles) dropped.push_back(list.back()), list.pop_back();
    return hit;
  }
};

struct Fetched {
  std::int64_t from_last_level = 0, from_memory = 0;  // tiles
};

// Forward attention: a block has one tile of queries and walks all tiles of keys and values. One block runs on a unit.
Fetched walked_here(const Plan& plan, const HardwareProfile& gpu, const Point& point, std::int64_t l2_tiles,
                    std::int64_t last_level_tiles) {
  const BoundIsland bound = bind_island(plan, gpu, point, 0);
  const BlockOrder order(bound);
  const std::int64_t caches = gpu.l2_caches->value, dealt = gpu.l2_dealt_blocks->value, units = gpu.units.value;
  const Diagram& diagram = plan.schedule.diagram;
  const auto head_of = [&](const BlockPlace& place, bool of_keys) {
    std::int64_t head = 0;
    for (std::size_t l = 0; l < bound.nest.loop_count; ++l)
      if (bound.nest.loops[l].group &&
          diagram.array(*diagram.find_array(of_keys ? "K" : "Q")).has(bound.nest.loops[l].axis))
        head = head * 1000 + place[l];
    return head;
  };
  std::vector<std::list<std::int64_t>> waiting(static_cast<std::size_t>(caches));
  for (std::int64_t b = 0; b < order.size(); ++b) waiting[static_cast<std::size_t>(b / dealt % caches)].push_back(b);
  std::vector<RecentTiles> l2(static_cast<std::size_t>(caches), {l2_tiles});
  RecentTiles last_level{last_level_tiles};
  struct Unit {
    std::int64_t block = -1, step = 0;
  };
  std::vector<Unit> running(static_cast<std::size_t>(units));
  const auto take = [&](std::size_t unit) {
    auto& own = waiting[unit % static_cast<std::size_t>(caches)];
    running[unit] = {own.empty() ? -1 : own.front(), 0};
    if (!own.empty()) own.pop_front();
  };
  for (std::size_t u = 0; u < running.size(); ++u) take(u);
  Fetched fetched;
  const std::int64_t key_tiles = ceil_div(point.workload.kv_len, point.tiles[1]);
  std::uint64_t choice = 1;
  for (bool busy = true; busy;) {
    busy = false;
    std::vector<std::size_t> ended;
    std::set<std::pair<std::size_t, Tile>> asked;  // in this step, of each L2
    for (std::size_t u = 0; u < running.size(); ++u) {
      Unit& unit = running[u];
      if (unit.block < 0) continue;
      busy = true;
      const std::size_t cache = u % static_cast<std::size_t>(caches);
      const auto use = [&](const Tile& tile) {  // results that have to go leave through the last-level cache
        const bool hit = l2[cache].use(tile);
        for (const Tile& gone : l2[cache].dropped)
          if (gone[0] == result) last_level.use(gone);
        return hit;
      };
      const auto read = [&](const Tile& tile) {
        if (!asked.insert({cache, tile}).second || use(tile)) return;
        ++fetched.from_last_level;
        if (!last_level.use(tile)) ++fetched.from_memory;
      };
      const BlockPlace place = order.at(unit.block);
      if (unit.step == 0) read({0, unit.block, 0, 0});
      read({1, head_of(place, true), unit.step, 0});
      if (++unit.step == key_tiles) {
        use({result, unit.block, 0, 0});
        ended.push_back(u);
      }
    }
    while (!ended.empty()) take(take_at_random(ended, choice));
  }
  return fetched;
}

std::int64_t read_bytes(const Prediction& prediction, Boundary boundary) { return prediction.traffic[boundary][0]; }

}  // namespace

TEST_CASE("blocks dealt to eight L2s behind a last-level cache miss as often as in a walk written here") {
  Plan plan = load_plan_for_schedule("flash2", levels_root);
  std::mt19937 random(test_seed());
  const auto one_of = [&](std::initializer_list<std::int64_t> list) { return list.begin()[random() % list.size()]; };
  plan.kernel.islands[0].stores_log_sum_exp = false;
  bool l2_missed = false, last_level_missed = false;
  for (int round = 0; round < 60; ++round) {
    auto& order = plan.kernel.islands[0].block_order;
    order = {GridDimension::q, GridDimension::heads, GridDimension::batch};
    std::shuffle(order.begin(), order.end(), random);
    Point point = default_point(plan);
    point.l2 = L2Model::walk, point.blocks_per_unit = 1, point.warps = 4;
    point.workload = {one_of({1, 2, 3}), one_of({2, 4, 6, 8}), 0, one_of({64, 320, 640}), one_of({64, 512}), 64, 64};
    point.workload.heads_kv = point.workload.heads_q;
    point.tiles[0] = 64, point.tiles[1] = 32;
    // A tile of queries, of results, and of keys with their values: 8 KiB each.
    const std::int64_t tile = 8192, caches = one_of({1, 2, 4, 8}), units = caches * one_of({1, 2, 4}),
                       l2 = one_of({3, 8, 20}), last_level = one_of({30, 60, 5000});
    const HardwareProfile gpu = with_caches(units, caches, one_of({1, 1, 2}), static_cast<double>(l2 * tile),
                                            static_cast<double>(last_level * tile));
    const Prediction predicted = predict(plan, gpu, point);
    REQUIRE(predicted.islands[0].l2_walked);
    const Fetched expected = walked_here(plan, gpu, point, l2, last_level);
    CAPTURE(round);
    CHECK(read_bytes(predicted, Boundary::llc) == expected.from_last_level * tile);
    CHECK(read_bytes(predicted, Boundary::hbm) == expected.from_memory * tile);
    CHECK(predicted.traffic[Boundary::llc][1] == predicted.traffic[Boundary::hbm][1]);
    l2_missed = l2_missed || expected.from_last_level > expected.from_memory;
    const std::int64_t once =
        (point.workload.batch * point.workload.heads_q) * (point.workload.q_len / 64 + point.workload.kv_len / 32);
    last_level_missed = last_level_missed || expected.from_memory > once;
  }
  CHECK(l2_missed);
  CHECK(last_level_missed);
}

TEST_CASE("memory serves no more than the L2s lack, and all levels what is compulsory") {
  std::mt19937 random(test_seed());
  const auto one_of = [&](std::initializer_list<std::int64_t> list) { return list.begin()[random() % list.size()]; };
  for (const char* name :
       {"standard", "flash1", "flash2", "split-kv", "flash1-backward", "flash2-backward", "flash2-backward-split"}) {
    const Plan plan = load_plan_for_schedule(name, levels_root);
    for (const char* id : {"mi300x", "mi325x", "mi355x"}) {
      const HardwareProfile gpu = find_profile(id, levels_root / "hardware");
      for (int round = 0; round < 8; ++round) {
        Point point = default_point(plan);
        point.l2 = round % 2 == 0 ? L2Model::walk : L2Model::closed;
        point.mask = *parse_mask(round % 4 < 2 ? "none" : "causal");
        const std::int64_t heads = one_of({1, 8, 12});
        point.workload = {one_of({1, 3}), heads, heads, one_of({128, 1024, 3000}), one_of({500, 4096}), 64, 64};
        const Prediction found = predict(plan, gpu, point);
        CAPTURE(name);
        CAPTURE(id);
        CAPTURE(round);
        CHECK(read_bytes(found, Boundary::hbm) <= read_bytes(found, Boundary::llc));
        CHECK(found.traffic[Boundary::hbm][1] <= found.traffic[Boundary::llc][1]);
        CHECK(read_bytes(found, Boundary::llc) <= read_bytes(found, Boundary::l2));
        CHECK(found.traffic.both(Boundary::llc) >= found.compulsory_bytes);
        CHECK(found.traffic.both(Boundary::hbm) >= found.compulsory_bytes);
      }
    }
  }
}

TEST_CASE("one L2 before an endless last-level cache has the traffic of one L2 before memory") {
  const HardwareProfile two = with_caches(64, 1, 1, 2e6, 1e15);
  HardwareProfile one = two;
  one.l2_caches.reset(), one.l2_dealt_blocks.reset();
  std::erase_if(one.levels, [](const MemoryLevel& level) { return level.id == LevelId::llc; });
  for (const char* name : {"flash1", "flash2", "flash2-backward", "split-kv"}) {
    const Plan plan = load_plan_for_schedule(name, levels_root);
    for (const L2Model model : {L2Model::walk, L2Model::closed})
      for (const char* mask : {"none", "causal"}) {
        Point point = default_point(plan);
        point.l2 = model, point.mask = *parse_mask(mask), point.workload = {2, 8, 8, 2048, 4096, 64, 64};
        const Prediction with = predict(plan, two, point), without = predict(plan, one, point);
        CAPTURE(name);
        CAPTURE(mask);
        CAPTURE(static_cast<int>(model));
        CHECK(with.traffic[Boundary::llc] == without.traffic[Boundary::hbm]);
        CHECK(without.traffic.both(Boundary::llc) == 0);
        CHECK(read_bytes(with, Boundary::hbm) <= read_bytes(without, Boundary::hbm));
      }
  }
}

}  // namespace tilescope::last_level_test
