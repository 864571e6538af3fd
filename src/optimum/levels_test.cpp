// Memory hierarchies: the sum over levels, theorem 2 compared with an LRU cache, and theorem 3 compared with a count of
// the sender of each value.
#include "optimum/levels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <list>
#include <random>
#include <unordered_map>

#include "base/checked.h"
#include "base/test_seed.h"
#include "optimum/balance.h"

namespace levels_test {

using namespace tilescope;

namespace {

const PowerLaw attention_term{{1, 1}}, matmul_term{{1, 0.5}};

// A fully associative cache of single values with least-recently-used replacement.
class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}
  bool miss(std::int64_t address) {  // loads a value; it becomes the most recent one
    if (const auto found = where_.find(address); found != where_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return false;
    }
    order_.push_front(address);
    where_[address] = order_.begin();
    if (order_.size() > capacity_) where_.erase(order_.back()), order_.pop_back();
    return true;
  }

 private:
  std::size_t capacity_;
  std::list<std::int64_t> order_;
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> where_;
};

// Simulates N blocks in lock step. Each block loads its query rows. All blocks then use the same key at a time. Each
// block stores its output rows through the cache.
std::int64_t simulated_values(const StreamedHead& head, std::int64_t blocks, std::int64_t cache_values) {
  Lru cache(static_cast<std::size_t>(cache_values));
  std::int64_t crossed = 0;
  const std::int64_t half = head.qo_width / 2, tiles = ceil_div(head.q_len, head.group_rows);
  const auto rows_of = [&](std::int64_t block, std::int64_t base, bool load) {
    for (std::int64_t row = block * head.group_rows; row < std::min(head.q_len, (block + 1) * head.group_rows); ++row)
      for (std::int64_t i = 0; i < half; ++i) {
        const bool missed = cache.miss(base + row * half + i);
        crossed += load ? missed : 1;  // every output value is stored once and occupies the cache until then
      }
  };
  const std::int64_t query_base = 0, key_base = head.q_len * half, output_base = key_base + head.kv_len * head.kv_width;
  for (std::int64_t wave = 0; wave < tiles; wave += blocks) {
    const std::int64_t end = std::min(tiles, wave + blocks);
    for (std::int64_t block = wave; block < end; ++block) rows_of(block, query_base, true);
    for (std::int64_t key = 0; key < head.kv_len; ++key)
      for (std::int64_t block = wave; block < end; ++block)
        for (std::int64_t i = 0; i < head.kv_width; ++i) crossed += cache.miss(key_base + key * head.kv_width + i);
    for (std::int64_t block = wave; block < end; ++block) rows_of(block, output_base, false);
  }
  return crossed;
}

}  // namespace

TEST_CASE("the cost of a hierarchy is the sum over levels of price times traffic; the outermost level costs nothing") {
  const PowerLaw law{{100, 1}, {60, 0.5}, {7, 0}};
  const Level levels[] = {{"hbm", std::numeric_limits<double>::infinity(), 0}, {"l2", 100, 0.5}, {"smem", 25, 3}};
  CHECK(weighted_cost(law, levels) == doctest::Approx(0.5 * (1 + 6 + 7) + 3 * (4 + 12 + 7)).epsilon(1e-14));
}

TEST_CASE("the figures of merit of two levels have the inverse ratio of the costs of a term on them") {
  const Level a{"a", 3000, 1 / 5.0}, b{"b", 500, 1 / 2.0};
  for (const double beta : {0.0, 0.5, 1.0, 2.0}) {
    const PowerLaw term{{42, beta}};
    CHECK(figure_of_merit(a, beta) / figure_of_merit(b, beta) ==
          doctest::Approx(weighted_cost(term, {&b, 1}) / weighted_cost(term, {&a, 1})).epsilon(1e-13));
  }
}

TEST_CASE("theorem 2: with the memory of N children, attention loads keys and values once per wave of N blocks") {
  const double q = 8192, x = 8192, d = 128, g = 128, n = 16;  // g rows of Q and O fill a child: M = 2 g d
  const double law = evaluate({{4 * x * q * d * d, 1}, {2 * q * d, 0}}, intermediate_memory(2 * g * d, n));
  const StreamedHead head{8192, 8192, 256, 256, 128};
  CHECK(law == static_cast<double>(cached_head_values(head, 16, 1)));
  CHECK(intermediate_applies(16, 64, 4));
  CHECK(!intermediate_applies(15, 64, 4));
  CHECK(!intermediate_applies(15, 64, 0));
}

TEST_CASE("theorem 2: the formula for a head equals an LRU cache simulation with blocks in lock step") {
  const unsigned value = test_seed();
  MESSAGE("seed " << value);
  std::mt19937 engine(value);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  int spilled = 0, kept = 0, partly = 0;
  for (int i = 0; i < 500; ++i) {
    const std::int64_t d = between(1, 4);
    const StreamedHead head{between(1, 60), between(1, 30), 2 * d, 2 * d, between(1, 8)};
    const std::int64_t blocks = between(1, 6), keys_and_values = head.kv_len * head.kv_width;
    const std::int64_t wave = blocks * head.group_rows * head.qo_width;
    const std::int64_t cache = between(1, 2 * (keys_and_values + wave));
    const std::int64_t passes = ceil_div(head.q_len, blocks * head.group_rows);
    const std::int64_t simulated = simulated_values(head, blocks, cache),
                       counted = cached_head_values(head, blocks, cache);
    CAPTURE(head.q_len);
    CAPTURE(head.kv_len);
    CAPTURE(d);
    CAPTURE(head.group_rows);
    CAPTURE(blocks);
    CAPTURE(cache);
    if (cache < keys_and_values && cache >= head.kv_width) {
      CHECK(simulated == 2 * head.q_len * d + 2 * head.kv_len * d * passes);
      CHECK(simulated == counted);
      ++spilled;
    } else if (cache >= keys_and_values + wave) {
      CHECK(simulated == 2 * head.q_len * d + 2 * head.kv_len * d);
      CHECK(simulated == counted);
      ++kept;
    } else if (cache >= head.kv_width) {
      CHECK(simulated <= counted);
      CHECK(simulated >= 2 * (head.q_len + head.kv_len) * d);
      ++partly;
    }
  }
  CHECK(spilled > 50);
  CHECK(kept > 50);
  CHECK(partly > 10);
}

TEST_CASE("a count of values beyond 2^63 is refused") {
  const std::int64_t large = std::int64_t{1} << 40;
  CHECK_THROWS_AS(cached_head_values({large, large, 256, 256, 1}, 1, 1), CountOverflow);
}

TEST_CASE("theorem 3: a path between siblings is equivalent to a level with the memory of all siblings") {
  const PowerLaw law{{5e9, 1}, {3e7, 0.5}, {1e5, 0}};
  for (const double n : {1.0, 2.0, 4.0, 8.0}) {
    const double parent = 1 / 2.04, cross = 1 / 3.27, memory = 1e5;
    const Level inserted[] = {{"family", n * memory, parent - cross}, {"child", memory, cross}};
    CHECK(cross_transfer_cost(law, {memory, n, parent, cross}) ==
          doctest::Approx(weighted_cost(law, inserted)).epsilon(1e-13));
  }
}

TEST_CASE("theorem 3 equals counting which blocks of a cluster load each key and which receive it from a sibling") {
  const std::int64_t q = 4096, x = 512, d = 64, g = 64, tile = 16;
  for (const std::int64_t n : {1, 2, 4, 8}) {
    std::int64_t from_parent = 2 * q * d, sideways = 0;  // each block loads its own queries and stores its own outputs
    for (std::int64_t cluster = 0; cluster < q / (g * n); ++cluster)
      for (std::int64_t key_tile = 0; key_tile < x / tile; ++key_tile)
        for (std::int64_t block = 0; block < n; ++block) {
          const bool loads = key_tile % n == block;  // the cluster's blocks take turns to load and multicast
          (loads ? from_parent : sideways) += 2 * tile * d;
        }
    const double qd = static_cast<double>(q), xd = static_cast<double>(x), dd = static_cast<double>(d);
    const PowerLaw law{{4 * xd * qd * dd * dd, 1}, {2 * qd * dd, 0}};
    const ChildFamily family{2.0 * static_cast<double>(g) * dd, static_cast<double>(n), 3, 2};
    CHECK(cross_transfer_cost(law, family) ==
          doctest::Approx(static_cast<double>(3 * from_parent + 2 * sideways)).epsilon(1e-13));
  }
}

// Napkin A.2.3 with the bandwidths of arXiv 2402.13499 on an H800: 2.04 TB/s from memory, 3.27 and 2.65 TB/s between
// SMs in clusters of 2 and 4 (Napkin, arXiv 2412.03317, section 4.5, theorem 3).
TEST_CASE("clusters of two are best for attention and clusters of four for a matmul on the H800") {
  const auto saving = [](const PowerLaw& law, double n, double sideways) {
    return cross_transfer_saving(law, {1, n, 1 / 2.04, 1 / sideways});
  };
  CHECK(saving(attention_term, 2, 3.27) == doctest::Approx(0.0922).epsilon(1e-3));
  CHECK(saving(attention_term, 4, 2.65) == doctest::Approx(0.0846).epsilon(1e-3));
  CHECK(saving(matmul_term, 2, 3.27) == doctest::Approx(0.0540).epsilon(1e-3));
  CHECK(saving(matmul_term, 4, 2.65) == doctest::Approx(0.0564).epsilon(1e-3));
  CHECK(saving(attention_term, 2, 3.27) > saving(attention_term, 4, 2.65));
  CHECK(saving(matmul_term, 2, 3.27) < saving(matmul_term, 4, 2.65));
  CHECK(saving(attention_term, 1, 3.27) == 0);
}

TEST_CASE("at the smallest sufficient group, loading and computing take the same time") {
  for (const double ratio : {50.0, 165.0, 590.0}) {
    const auto b = least_contraction(ratio, 4 * least_memory(ratio));
    REQUIRE(b.has_value());
    CHECK(1 / (2 * *b) + 1 / std::sqrt(4 * least_memory(ratio)) == doctest::Approx(1 / ratio).epsilon(1e-12));
    CHECK(!least_contraction(ratio, least_memory(ratio) * (1 - 1e-9)));
    CHECK(*least_contraction(ratio) == doctest::Approx(ratio / 2).epsilon(1e-14));
  }
}

}  // namespace levels_test
