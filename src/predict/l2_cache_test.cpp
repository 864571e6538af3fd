// The cache against its definition, done the slow way, and against what sweeps over it must give.
#include "predict/l2_cache.h"

#include <doctest/doctest.h>

#include <random>

namespace tilescope {
namespace {

// Entries as a plain list, the most recent first; what each has lost is worked out anew after every use.
struct PlainStack {
  struct Entry {
    int id;
    std::int64_t bytes;
    int lost;
  };
  Depths depths;
  std::vector<Entry> list;

  int use(int id, std::int64_t bytes) {
    int lost = cache_parts;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].id == id) lost = list[i].lost, list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    list.insert(list.begin(), {id, bytes, 0});
    std::int64_t depth = 0;
    for (Entry& entry : list) {
      depth += entry.bytes;
      const auto deeper = std::count_if(depths.begin(), depths.end(), [&](std::int64_t d) { return depth > d; });
      entry.lost = std::max(entry.lost, static_cast<int>(deeper));
    }
    std::erase_if(list, [](const Entry& entry) { return entry.lost == cache_parts; });
    return lost;
  }
};

Depths rising(std::int64_t first, std::int64_t step) {
  Depths depths;
  for (std::size_t i = 0; i < depths.size(); ++i) depths[i] = first + step * static_cast<std::int64_t>(i);
  return depths;
}

}  // namespace

TEST_CASE("a stack of recency loses parts of entries as the plain list does") {
  std::mt19937 random(5);
  for (const Depths& depths : {rising(20, 0), rising(20, 1), rising(7, 5), rising(1, 1), rising(100, 40)}) {
    LruStack stack;
    stack.reset(40, depths);
    PlainStack plain{depths, {}};
    std::array<std::int64_t, 40> size{};
    for (auto& bytes : size) bytes = 1 + static_cast<std::int64_t>(random() % 6);
    for (int i = 0; i < 5000; ++i) {
      const auto id = static_cast<int>(random() % (i % 1000 < 500 ? 40 : 9));
      if (random() % 50 == 0) ++size[static_cast<std::size_t>(id)];  // copies join the home's part
      REQUIRE(stack.use(id, size[static_cast<std::size_t>(id)]) == plain.use(id, size[static_cast<std::size_t>(id)]));
    }
  }
}

TEST_CASE("what all units read takes its size in every partition, what one reads less, what is only stored its half") {
  CacheShape shape{.partitions = 2, .depths = rising(100, 0), .unwritten = rising(60, 0)};
  // Bytes missing in the second of two sweeps over `tiles` tiles of 2 bytes.
  const auto second_sweep = [&](int tiles, auto&& use) {
    L2Cache cache;
    cache.reset(shape, 1000);
    for (int i = 0; i < tiles; ++i) use(cache, i);
    int missing = 0;
    for (int i = 0; i < tiles; ++i) missing += use(cache, i);
    return missing;
  };
  const auto by_all = [](L2Cache& cache, int i) { return cache.read(i, 0, 2) + cache.read(i, 1, 2); };
  const auto by_one = [](L2Cache& cache, int i) { return cache.read(i, i % 2, 2); };
  const auto added = [](L2Cache& cache, int i) { return cache.store(i, 2).lacked; };
  CHECK(second_sweep(50, by_all) == 0);
  CHECK(second_sweep(51, by_all) ==
        51 * 2 * cache_parts);  // a sweep that does not fit finds nothing, first out first in
  CHECK(second_sweep(66, by_one) == 0);
  CHECK(second_sweep(68, by_one) > 0);
  CHECK(second_sweep(100, added) == 0);
  CHECK(second_sweep(101, added) == 101 * 2 * cache_parts);
}

TEST_CASE("stored data beyond the bound is written, the oldest first, and stays readable") {
  L2Cache cache;
  cache.reset({.partitions = 2, .depths = rising(100, 0), .unwritten = rising(60, 0)}, 1000);
  for (int i = 0; i < 31; ++i) CHECK(cache.store(i, 2).written == 0);
  CHECK(cache.store(0, 2).written == 2 * cache_parts);  // 62 bytes were too many
  CHECK(cache.store(2, 2).written == 0);  // the second has just gone too, in the first one's place; not the third
  CHECK(cache.store(1, 2).written == 2 * cache_parts);
  CHECK(cache.read(5, 0, 2) == 0);
}

TEST_CASE("a profile without measured curves has a sharp cache of its capacity") {
  const HardwareProfile a100 = load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/a100_sxm_80.yaml");
  const CacheShape shape = cache_shape(a100);
  const double capacity = a100.level("l2")->capacity_bytes->value;
  CHECK(shape.depths.front() == static_cast<std::int64_t>(capacity) / shape.partitions);
  CHECK(shape.depths.back() == shape.depths.front());
  CHECK(shape.unwritten.back() == static_cast<std::int64_t>(capacity));
  const CacheShape h200 = cache_shape(load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml"));
  CHECK(h200.partitions == 2);
  CHECK(std::is_sorted(h200.depths.begin(), h200.depths.end()));
  CHECK(h200.depths.front() < h200.depths.back());
}

}  // namespace tilescope
