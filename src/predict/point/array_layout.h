// Where the rows of an array lie in memory, as a kernel's `layout` says.
#pragma once

#include <optional>

#include "predict/point/bound_island.h"

namespace tilescope {

// Of an array whose rows of one head do not lie one behind the other. Bytes.
struct RowPlaces {
  std::int64_t batch = 1, heads = 1, length = 1;         // numbers of entries, heads and rows of a head
  std::int64_t row = 0;                                  // a row of one head
  std::int64_t entry_step = 0, head_step = 0, step = 0;  // to the next entry, head, row
  std::int64_t first = 0;                                // of the first row, in the tensor that it is a part of
};

// Nothing: rows lie densely, as they do where no layout is stated, or the array is none of (batch, heads, length, dim).
std::optional<RowPlaces> row_places(const BoundIsland& bound, ArrayId id);

// Sectors that all rows touch, each row for itself.
std::int64_t sectors_of_rows(const RowPlaces& places, std::int64_t sector_bytes);

// Bytes that cross between the SMs and the L2 where `bytes` of the array are asked for: each row takes the sectors that
// it touches whole, though it may share the first and last with the rows of other heads.
std::int64_t in_sectors_of_rows(const BoundIsland& bound, ArrayId id, std::int64_t bytes);

}  // namespace tilescope
