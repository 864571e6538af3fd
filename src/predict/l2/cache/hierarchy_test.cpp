// Compares several L2s and a last-level cache with plain lists under random reads, stores and additions.
#include "predict/l2/cache/hierarchy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <set>

#include "base/test_seed.h"

namespace tilescope::hierarchy_test {
namespace {

// Entries by last use; those beyond the capacity are dropped.
struct ListedCache {
  std::int64_t capacity = 0;
  std::list<int> used{};  // the newest first
  bool has(int entry) const { return std::find(used.begin(), used.end(), entry) != used.end(); }
  std::vector<int> use(int entry, const std::vector<std::int64_t>& bytes) {
    used.remove(entry), used.push_front(entry);
    std::int64_t held = 0;
    for (const int each : used) held += bytes[static_cast<std::size_t>(each)];
    std::vector<int> dropped;
    for (; held > capacity; used.pop_back())
      held -= bytes[static_cast<std::size_t>(used.back())], dropped.push_back(used.back());
    return dropped;
  }
};

struct PlainHierarchy {
  std::vector<std::int64_t> bytes;
  std::vector<ListedCache> l2;
  ListedCache last_level;              // capacity 0: there is none
  std::map<int, int> holder_of_new{};  // entries whose contents memory lacks: the L2 that has them
  std::set<int> stored_once{};

  void to_memory(int entry) {
    if (holder_of_new.erase(entry) > 0 && last_level.capacity > 0) last_level.use(entry, bytes);
  }
  void use(int entry, int cache) {
    for (const int gone : l2[static_cast<std::size_t>(cache)].use(entry, bytes)) {
      const auto found = holder_of_new.find(gone);
      if (found != holder_of_new.end() && found->second == cache) to_memory(gone);
    }
  }
  // What has to go makes room first; then comes what is asked for.
  CacheHierarchy::Moved bring(int entry, int cache, bool fetches) {
    CacheHierarchy::Moved moved;
    if (!l2[static_cast<std::size_t>(cache)].has(entry)) moved.lacked = bytes[static_cast<std::size_t>(entry)];
    use(entry, cache);
    if (moved.lacked == 0 || !fetches) return moved;
    if (last_level.capacity == 0 || !last_level.has(entry)) moved.from_memory = moved.lacked;
    if (last_level.capacity > 0) last_level.use(entry, bytes);
    return moved;
  }
  CacheHierarchy::Moved read(int entry, int cache) {
    if (const auto found = holder_of_new.find(entry); found != holder_of_new.end() && found->second != cache)
      to_memory(entry);
    return bring(entry, cache, true);
  }
  CacheHierarchy::Moved store(int entry, int cache, bool adds) {
    const auto found = holder_of_new.find(entry);
    const bool kept = found != holder_of_new.end() && found->second == cache;
    if (!kept) to_memory(entry);
    for (std::size_t other = 0; other < l2.size(); ++other)
      if (static_cast<int>(other) != cache) l2[other].used.remove(entry);
    CacheHierarchy::Moved moved = bring(entry, cache, adds);
    moved.written = stored_once.contains(entry) && !kept ? bytes[static_cast<std::size_t>(entry)] : 0;
    stored_once.insert(entry);
    holder_of_new[entry] = cache;
    if (!l2[static_cast<std::size_t>(cache)].has(entry)) to_memory(entry);
    return moved;
  }
};

}  // namespace

TEST_CASE("several L2s with a last-level cache move what plain lists move") {
  std::mt19937 random(test_seed());
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  std::int64_t from_last_level = 0, taken_over = 0;
  for (int round = 0; round < 200; ++round) {
    const int entries = 5 + below(20), caches = 1 + below(8);
    PlainHierarchy plain{{}, {}, {round % 3 == 0 ? 0 : 200 + below(1500)}};
    std::vector<CachePiece> pieces;
    std::vector<int> first{0};
    for (int i = 0; i < entries; ++i) {
      plain.bytes.push_back(1 + below(100));
      pieces.push_back({i * 1000, plain.bytes.back()}), first.push_back(i + 1);
    }
    const std::int64_t capacity = 100 + below(400);
    plain.l2.assign(static_cast<std::size_t>(caches), {capacity});
    CacheHierarchy tested;
    tested.reset({.capacity = capacity, .caches = caches, .last_level_capacity = plain.last_level.capacity}, pieces,
                 first);
    for (int i = 0; i < 500; ++i) {
      const int entry = below(entries), cache = below(caches), what = below(3);
      const auto of = [&](auto& hierarchy) {
        if constexpr (std::is_same_v<decltype(hierarchy), CacheHierarchy&>)
          return what == 0 ? hierarchy.read(entry, cache, 0) : hierarchy.store(entry, cache, what == 2);
        else return what == 0 ? hierarchy.read(entry, cache) : hierarchy.store(entry, cache, what == 2);
      };
      const CacheHierarchy::Moved expected = of(plain), found = of(tested);
      REQUIRE(found.lacked == expected.lacked);
      REQUIRE(found.from_memory == expected.from_memory);
      REQUIRE(found.written == expected.written);
      from_last_level += found.lacked - found.from_memory, taken_over += found.written;
    }
  }
  CHECK(from_last_level > 0);
  CHECK(taken_over > 0);
}

TEST_CASE("caches with and without sets hand the same fragments to each other") {
  const std::vector<CachePiece> pieces{{0, 300'000}, {2 << 20, 1'000'000}};
  const std::vector<int> first{0, 1, 2};
  for (const std::int64_t ways : {0, 16})
    for (const std::int64_t last_ways : {0, 16}) {
      CacheHierarchy caches;
      caches.reset({.capacity = 4 << 20,
                    .ways = ways,
                    .caches = 2,
                    .last_level_capacity = 64 << 20,
                    .last_level_ways = last_ways},
                   pieces, first);
      for (int entry = 0; entry < 2; ++entry) {
        const CacheHierarchy::Moved cold = caches.read(entry, 0, 0), warm = caches.read(entry, 1, 0);
        CHECK(cold.from_memory == cold.lacked);
        CHECK(cold.lacked > pieces[static_cast<std::size_t>(entry)].bytes * 99 / 100);
        CHECK(warm.lacked == cold.lacked);
        CHECK(warm.from_memory == 0);
        CHECK(caches.read(entry, 0, 0).lacked == 0);
      }
    }
}

}  // namespace tilescope::hierarchy_test
