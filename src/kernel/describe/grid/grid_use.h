// How a launch divides attention among its blocks: tiles of queries, heads, entries and parts of the keys.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "diagram/workload.h"

namespace tilescope {

struct GridUse {
  std::int64_t splits = 1;  // parts of the keys
  bool packed = false;      // rows of a tile are those of all query heads that share a KV head
  std::string order;        // of blocks, fastest first: "q, kv, heads, batch" with parts, else "q, heads, batch"
};

// All ways in which `grid` is tiles of `tile_q` rows, heads, entries and parts of whole tiles of `tile_kv` keys, none
// of them empty. Of those with fewest parts: first tiles of one head, then packed ones.
std::vector<GridUse> uses_of_grid(const std::array<std::int64_t, 3>& grid, const Workload& workload,
                                  std::int64_t tile_q, std::int64_t tile_kv);

}  // namespace tilescope
