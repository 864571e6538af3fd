#include "kernel/describe/grid/grid_use.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace grid_use_test {

using namespace tilescope;

TEST_CASE("the use from which a grid was made is found, and every use that is found makes the grid") {
  std::mt19937 random(18);
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const std::int64_t group = pick(1, 8), heads_kv = pick(1, 6), tile_q = 16, tile_kv = 64;
    const Workload w{pick(1, 5), group * heads_kv, heads_kv, pick(1, 200), pick(64, 8000), 64, 64};
    const bool packed = group > 1 && pick(0, 1) == 1;
    const std::int64_t steps = (w.kv_len + tile_kv - 1) / tile_kv, of_part = pick(1, steps);
    const std::int64_t splits = (steps + of_part - 1) / of_part, rows = packed ? w.q_len * group : w.q_len;
    const std::int64_t q_tiles = (rows + tile_q - 1) / tile_q, heads = packed ? heads_kv : w.heads_q;
    const std::vector<GridUse> uses = uses_of_grid({q_tiles * splits, heads, w.batch}, w, tile_q, tile_kv);
    CHECK(std::any_of(uses.begin(), uses.end(),
                      [&](const GridUse& use) { return use.splits == splits && use.packed == packed; }));
    for (const GridUse& use : uses) {
      const std::int64_t all_rows = use.packed ? w.q_len * group : w.q_len;
      const std::int64_t tiles = (all_rows + tile_q - 1) / tile_q * (use.packed ? heads_kv : w.heads_q) * w.batch;
      CHECK(tiles * use.splits == q_tiles * splits * heads * w.batch);
      CHECK((use.order.find("kv") != std::string::npos) == (use.splits > 1));
    }
    CHECK(std::is_sorted(uses.begin(), uses.end(),
                         [](const GridUse& a, const GridUse& b) { return a.splits < b.splits; }));
  }
}

TEST_CASE("parts that would be empty are no use of a grid") {
  const Workload w{1, 4, 4, 16, 640, 64, 64};  // 10 steps: no 6 parts of whole steps without an empty one
  CHECK(uses_of_grid({1, 4 * 6, 1}, w, 16, 64).empty());
  CHECK(uses_of_grid({1, 4 * 5, 1}, w, 16, 64).front().splits == 5);
}

}  // namespace grid_use_test
