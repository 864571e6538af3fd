// Which dimension of attention each dimension of a grid is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

struct GridSizes {
  std::int64_t q_tiles = 1, heads = 1, batch = 1, splits = 1;
};

// All orders of blocks, fastest dimension first ("q, heads, batch"), in which the dimensions q, heads and batch are
// those of the grid, one after the other or several in one. Several orders fit where sizes are equal or 1. Parts of the
// keys, where there are several, are a dimension "kv".
std::vector<std::string> orders_that_fit(const std::array<std::int64_t, 3>& grid, const GridSizes& sizes);

}  // namespace tilescope
