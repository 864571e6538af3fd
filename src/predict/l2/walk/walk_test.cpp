// Compares the walk with an independent enumeration that shares only the order of blocks. The enumeration finds steps
// by testing every pair of elements, names tiles by their first elements and keeps caches as plain lists. Arrays that
// the same loops move are one entry if all are loaded or all are stored.
#include "predict/l2/walk/walk.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <random>

#include "base/test_seed.h"
#include "predict/l2/walk/random_order.h"
#include "predict/point/order/block_order.h"
#include "predict/point/support.h"

namespace tilescope::walk_walk_test {
namespace {

// One partition with a sharp capacity limit: a list of tiles, the most recent first.
struct PlainCache {
  std::int64_t capacity;
  std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> list{};
  std::vector<std::vector<std::int64_t>> dropped{};                      // ordered by last use
  bool use(const std::vector<std::int64_t>& tile, std::int64_t bytes) {  // returns whether the tile was present
    bool hit = false;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].first == tile) hit = true, list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    list.insert(list.begin(), {tile, bytes});
    std::int64_t depth = 0;
    dropped.clear();
    for (std::size_t i = 0; i < list.size(); ++i)
      if ((depth += list[i].second) > capacity) {
        for (std::size_t j = i; j < list.size(); ++j) dropped.push_back(list[j].first);
        list.resize(i);
        break;
      }
    return hit;
  }
};

struct Oracle {
  const BoundIsland& bound;
  PlainCache cache, unwritten;
  std::map<std::vector<std::int64_t>, bool> seen, stored;
  std::map<std::vector<std::int64_t>, int> read_at{};  // simultaneous requests for a tile count once
  std::array<WalkedArray, max_arrays> found{};

  std::pair<std::int64_t, std::int64_t> span(const BlockPlace& at, AxisId axis) const {  // first element, count
    for (std::size_t i = 0; i < bound.nest.loop_count; ++i) {
      const BoundLoop& loop = bound.nest.loops[i];
      if (loop.axis != axis) continue;
      const bool inner = bound.nest.chunked.present() && static_cast<int>(i) == bound.nest.chunked.inner;
      const std::int64_t base =
          inner ? at[static_cast<std::size_t>(bound.nest.chunked.outer)] * bound.nest.chunked.length : 0;
      const std::int64_t end = inner ? std::min(loop.size, base + bound.nest.chunked.length) : loop.size;
      return {base + at[i] * loop.tile, std::min(loop.tile, end - base - at[i] * loop.tile)};
    }
    return {0, bound.nest.size(axis)};
  }
  bool live(const BlockPlace& at) const {
    if (bound.nest.chunked.present() && span(at, bound.nest.chunked.of).second <= 0) return false;
    if (!bound.nest.guarded()) return true;
    const GuardAxes guard = *bound.nest.diagram->guard;
    const auto [q0, rows] = span(at, guard.query);
    const auto [x0, keys] = span(at, guard.key);
    for (std::int64_t q = q0; q < q0 + rows; ++q)
      for (std::int64_t x = x0; x < x0 + keys; ++x)
        if (sees(*bound.nest.mask, bound.nest.size(guard.query), bound.nest.size(guard.key), q, x)) return true;
    return false;
  }
  // All steps of a block, in its order.
  std::vector<BlockPlace> steps(const BlockPlace& block) const {
    std::vector<BlockPlace> list{block};
    for (std::size_t i = 0; i < bound.nest.loop_count; ++i) {
      if (bound.nest.loops[i].group) continue;
      const std::int64_t trips = bound.nest.loops[i].trips;
      const bool falls = BlockOrder::falls(bound, BlockOrder::dimension_of(bound, bound.nest.loops[i]));
      std::vector<BlockPlace> longer;
      for (BlockPlace at : list)
        for (std::int64_t t = 0; t < trips; ++t) at[i] = falls ? trips - 1 - t : t, longer.push_back(at);
      list = longer;
    }
    std::erase_if(list, [&](const BlockPlace& at) { return !live(at); });
    return list;
  }
  std::vector<std::int64_t> tile(const BlockPlace& at, std::size_t array) const {
    std::vector<std::int64_t> name{static_cast<std::int64_t>(array)};
    for (const AxisId axis : bound.nest.diagram->arrays[array].axes) name.push_back(span(at, axis).first);
    return name;
  }
  static ArrayId id_of(std::size_t array) { return static_cast<ArrayId>(static_cast<int>(array)); }
  bool moves_as(std::size_t a, std::size_t b) const {
    bool same = loads(bound, id_of(a)) == loads(bound, id_of(b)) && stores(bound, id_of(a)) == stores(bound, id_of(b));
    const auto& arrays = bound.nest.diagram->arrays;
    for (const BoundLoop& loop : bound.nest.all())
      same = same && bound.nest.carries(arrays[a].axes, loop.axis) == bound.nest.carries(arrays[b].axes, loop.axis);
    const auto how = [&](std::size_t i) { return bound.plan.schedule.how_stored(bound.island, id_of(i)).by; };
    return same && (!stores(bound, id_of(a)) || how(a) == how(b));
  }
  std::size_t first_like(std::size_t a) const {
    for (std::size_t b = 0; b < a; ++b)
      if (moves_as(a, b)) return b;
    return a;
  }
  std::int64_t bytes(const BlockPlace& at, std::size_t first) const {
    std::int64_t sum = 0;
    for (std::size_t a = first; a < bound.nest.diagram->arrays.size(); ++a) {
      if (first_like(a) != first) continue;
      std::int64_t values = 1;
      for (const AxisId axis : bound.nest.diagram->arrays[a].axes) values *= span(at, axis).second;
      sum += bytes_of(bound.point, *bound.nest.diagram, id_of(a), values);
    }
    return sum;
  }
  // Tiles that the cache drops are written.
  bool use(const std::vector<std::int64_t>& tile, std::int64_t bytes) {
    const bool hit = cache.use(tile, bytes);
    for (const auto& name : cache.dropped)
      std::erase_if(unwritten.list, [&](const auto& e) { return e.first == name; });
    return hit;
  }
  void store(const std::vector<std::int64_t>& name, std::int64_t size, std::size_t a, bool adds) {
    const bool there = use(name, size), kept = unwritten.use(name, size);
    if (stored[name] && (!kept || !there)) found[a].written_again += size;
    if (adds && seen[name] && !there) found[a].fetched_again += size;
    stored[name] = seen[name] = true;
  }
  // Blocks of one wave advance step by step. When blocks end, the next ones start in their places, drawn one by one.
  void run(std::int64_t resident) {
    const BlockOrder order(bound);
    const std::size_t arrays = bound.nest.diagram->arrays.size();
    struct Running {
      std::vector<BlockPlace> steps;
      std::size_t at = 0;
      std::map<std::size_t, std::pair<std::vector<std::int64_t>, std::int64_t>> held{};
    };
    std::int64_t next = 0;
    const auto take = [&](Running& run) {
      run = {};
      while (run.steps.empty() && next < order.size()) run.steps = steps(order.at(next++));
      return !run.steps.empty();
    };
    std::vector<Running> running(static_cast<std::size_t>(std::min(resident, order.size())));
    for (Running& one : running) take(one);
    const auto adds = [&](std::size_t a) {
      return bound.plan.schedule.how_stored(bound.island, static_cast<ArrayId>(static_cast<int>(a))).by !=
             Accumulate::rewriting;
    };
    int now = 0;
    std::uint64_t choice = 1;
    for (bool busy = true; busy; ++now) {
      busy = false;
      std::vector<Running*> ended;
      for (Running& one : running) {
        if (one.steps.empty()) continue;
        busy = true;
        const BlockPlace at = one.steps[one.at++];
        for (std::size_t turn = 0; turn < 2 * arrays; ++turn) {  // arrays that a block keeps are fetched first
          const std::size_t a = turn % arrays;
          if (first_like(a) != a || bound.streams(id_of(a)) != (turn >= arrays)) continue;
          const auto id = static_cast<ArrayId>(static_cast<int>(a));
          const std::vector<std::int64_t> name = tile(at, a);
          const std::int64_t size = bytes(at, a);
          if (loads(bound, id) && one.held[a].first != name) {
            const auto [before, first] = read_at.emplace(name, -1);
            if (before->second != now && !use(name, size) && seen[name]) found[a].fetched_again += size;
            before->second = now;
            seen[name] = true;
          } else if (stores(bound, id) && one.held[a].first != name) {
            if (!one.held[a].first.empty()) store(one.held[a].first, one.held[a].second, a, adds(a));
            if (!adds(a) && seen[name] && !use(name, size)) found[a].fetched_again += size;
          }
          one.held[a] = {name, size};
        }
        if (one.at < one.steps.size()) continue;
        for (std::size_t a = 0; a < arrays; ++a)
          if (first_like(a) == a && stores(bound, id_of(a))) store(one.held[a].first, one.held[a].second, a, adds(a));
        ended.push_back(&one);
      }
      while (!ended.empty()) take(*take_at_random(ended, choice));
    }
  }
};

HardwareProfile walked_gpu(const std::string& id) {
  return load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/" + id + ".yaml");
}
HardwareProfile h200() { return walked_gpu("h200_sxm"); }

CacheShape sharp(std::int64_t capacity, std::int64_t unwritten) {
  return {.capacity = capacity,
          .partitions = 1,
          .ways = 0,
          .dirty = static_cast<double>(unwritten) / static_cast<double>(capacity)};
}

// The first variant of a kernel for the head_dim.
Point point_of(const Plan& plan, const Workload& workload, const std::string& mask) {
  Point point = default_point(plan);
  point.workload = workload, point.mask = *parse_mask(mask);
  for (const KernelVariant& variant : plan.kernel.variants)
    if (variant.head_dim == 0 || variant.head_dim == workload.d_qk) {
      take_variant(point, plan.schedule, variant);
      break;
    }
  return point;
}

}  // namespace

TEST_CASE("the walk has the same hits as plain lists") {
  const HardwareProfile hardware = h200();
  for (const std::string kernel :
       {"fused_mma", "fused_wgmma", "flash1", "case_study", "backward", "backward_split", "split_kv"})
    for (const std::string mask : {"none", "causal"}) {
      const Plan plan = load_plan_for_kernel(kernel, TILESCOPE_SOURCE_DIR);
      const Point point = point_of(plan, {2, 4, 2, kernel == "split_kv" ? 8 : 300, 500, 64, 64}, mask);
      if (!unsupported(plan, hardware, point).empty()) continue;
      for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i) {
        const BoundIsland bound = bind_island(plan, hardware, point, i);
        if (bound.how.writes_masked_rows && mask == "causal" && kernel == "flash1")
          continue;  // no step stores tiles that no query sees
        for (const std::int64_t resident : {1, 3, 50})
          for (const std::int64_t capacity : {20000, 100000, 400000, 1 << 30}) {
            L2Walk walk;
            REQUIRE(walk_l2(bound, sharp(capacity, capacity / 2), resident, walk));
            Oracle oracle{bound, {capacity}, {capacity / 2}, {}, {}, {}};
            oracle.run(resident);
            for (std::size_t b = 0; b < plan.schedule.diagram.arrays.size(); ++b)
              if (const std::size_t first = oracle.first_like(b); first != b) {
                walk.arrays[first].fetched_again += walk.arrays[b].fetched_again;
                walk.arrays[first].written_again += walk.arrays[b].written_again;
                walk.arrays[b] = {};
              }
            for (std::size_t a = 0; a < plan.schedule.diagram.arrays.size(); ++a) {
              const std::string what = fmt::format("{} {} {} {} resident {} capacity {}", kernel, bound.island.name,
                                                   mask, plan.schedule.diagram.arrays[a].name, resident, capacity);
              CHECK_MESSAGE(walk.arrays[a].fetched_again == oracle.found[a].fetched_again, what);
              CHECK_MESSAGE(walk.arrays[a].written_again == oracle.found[a].written_again, what);
            }
          }
      }
    }
}

// Napkin (arXiv 2412.03317), section 4.4, theorem 2: W blocks in step read K and V once together. If K and V do not fit
// in the L2, every wave reads them again.
TEST_CASE("blocks in step behave like one block of all their queries") {
  const HardwareProfile hardware = h200();
  const Plan plan = load_plan_for_kernel("fused_mma", TILESCOPE_SOURCE_DIR);
  const Point point = point_of(plan, {1, 1, 1, 64 * 24, 4096, 64, 64}, "none");
  const BoundIsland bound = bind_island(plan, hardware, point, 0);
  const std::int64_t kv = 2 * 4096 * 64 * 2;
  for (const std::int64_t wave : {1, 2, 3, 4, 6, 8, 12, 24}) {
    L2Walk walk;
    REQUIRE(walk_l2(bound, sharp(kv / 2, kv / 2), wave, walk));
    std::int64_t again = 0;
    for (const WalkedArray& array : walk.arrays) again += array.fetched_again;
    CHECK(again == (24 / wave - 1) * kv);
    REQUIRE(walk_l2(bound, sharp(2 * kv, 2 * kv), wave, walk));
    for (const WalkedArray& array : walk.arrays) CHECK(array.fetched_again == 0);
  }
}

TEST_CASE("blocks that sleep behind others change nothing") {
  std::mt19937 random(test_seed());
  const auto one_of = [&](std::initializer_list<std::int64_t> list) { return list.begin()[random() % list.size()]; };
  const std::vector<HardwareProfile> gpus{h200(), walked_gpu("h100_sxm"), walked_gpu("mi300x"), walked_gpu("rtx4090")};
  const std::vector<std::string> kernels{"fused_mma", "fused_wgmma", "fa2_forward", "pytorch_flash2", "flash1",
                                         "split_kv",  "backward",    "reference",   "fa3_forward"};
  std::int64_t walked = 0;
  for (int round = 0; round < 150; ++round) {
    const HardwareProfile& gpu = gpus[random() % gpus.size()];
    const Plan plan = load_plan_for_kernel(kernels[random() % kernels.size()], TILESCOPE_SOURCE_DIR);
    const std::int64_t heads = one_of({1, 3, 8});
    const Point point = point_of(plan,
                                 {one_of({1, 2, 5}), heads * one_of({1, 2, 4}), heads, one_of({1, 100, 700, 1500}),
                                  one_of({128, 999, 2000}), 64, 64},
                                 random() % 2 == 0 ? "none" : "causal");
    for (int i = 0; i < static_cast<int>(plan.schedule.islands.size()); ++i) {
      const BoundIsland bound = bind_island(plan, gpu, point, i);
      CacheShape shape = cache_shape(gpu);
      shape.capacity /= one_of({1, 20, 200});
      const std::int64_t resident = gpu.units.value * one_of({1, 2, 5}) - static_cast<std::int64_t>(random() % 50);
      L2Walk with, without;
      const bool answered = walk_l2(bound, shape, resident, with),
                 same = walk_l2(bound, shape, resident, without, {.sleep = false});
      REQUIRE(answered == same);
      walked += with.steps;
      CHECK(with.steps == without.steps);
      for (std::size_t a = 0; a < max_arrays; ++a) CHECK(with.arrays[a] == without.arrays[a]);
    }
  }
  CHECK(walked > 100000);
}

TEST_CASE("a launch with too many steps is not walked") {
  const HardwareProfile hardware = h200();
  const Plan plan = load_plan_for_kernel("fused_mma", TILESCOPE_SOURCE_DIR);
  const Point point = point_of(plan, {8, 8, 8, 4096, 4096, 64, 64}, "none");
  L2Walk walk;
  CHECK_FALSE(walk_l2(bind_island(plan, hardware, point, 0), cache_shape(hardware), 132, walk,
                      {.drift = 0, .most_steps = 1000}));
}

}  // namespace tilescope::walk_walk_test
