#include "kernel/describe/grid/grid_use.h"

#include <algorithm>

#include "base/checked.h"
#include "kernel/describe/grid/launch_order.h"

namespace tilescope {
namespace {

std::int64_t ceil_of(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

}  // namespace

std::vector<GridUse> uses_of_grid(const std::array<std::int64_t, 3>& grid, const Workload& w, std::int64_t tile_q,
                                  std::int64_t tile_kv) {
  std::vector<GridUse> uses;
  const std::int64_t blocks = checked_mul(checked_mul(grid[0], grid[1]), grid[2]);
  const std::int64_t steps = ceil_of(w.kv_len, tile_kv);
  for (const bool packed : {false, true}) {
    if (packed && (w.heads_kv == 0 || w.heads_q == w.heads_kv || w.heads_q % w.heads_kv != 0)) continue;
    const std::int64_t rows = packed ? checked_mul(w.q_len, w.heads_q / w.heads_kv) : w.q_len;
    GridSizes sizes{.q_tiles = ceil_of(rows, tile_q), .heads = packed ? w.heads_kv : w.heads_q, .batch = w.batch};
    const std::int64_t tiles = checked_mul(checked_mul(sizes.q_tiles, sizes.heads), sizes.batch);
    if (tiles == 0 || blocks % tiles != 0) continue;
    sizes.splits = blocks / tiles;
    if (sizes.splits > steps || ceil_of(steps, ceil_of(steps, sizes.splits)) != sizes.splits) continue;
    for (const std::string& order : orders_that_fit(grid, sizes)) uses.push_back({sizes.splits, packed, order});
  }
  std::stable_sort(uses.begin(), uses.end(), [](const GridUse& a, const GridUse& b) { return a.splits < b.splits; });
  return uses;
}

}  // namespace tilescope
