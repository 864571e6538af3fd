// Where the rows of an array lie in memory, as a kernel's `layout` says.
#pragma once

#include <optional>

#include "predict/point/bound_island.h"

namespace tilescope {

// Of an array of (batch, heads, length, dim). Bytes.
struct RowPlaces {
  std::int64_t batch = 1, heads = 1, length = 1;         // numbers of entries, heads and rows of a head
  std::int64_t row = 0;                                  // a row of one head
  std::int64_t entry_step = 0, head_step = 0, step = 0;  // to the next entry, head, row
  std::int64_t first = 0;                                // of the first row, in the tensor that it is a part of

  bool dense() const { return step == row; }  // the rows of a head lie one behind the other
};

// Nothing: no layout is stated, or the array is none of (batch, heads, length, dim).
std::optional<RowPlaces> row_places(const BoundIsland& bound, ArrayId id);

// Sectors that all rows touch, each row for itself; or, `by_copies`, what asynchronous copies of threads fetch of them:
// for each sector's size of shared memory that they fill, those that its bytes lie in. Counted on an H100: rows that
// begin in the middle of a sector take nearly twice as many (predict/array_layout_test.cpp).
std::int64_t sectors_of_rows(const RowPlaces& places, std::int64_t sector_bytes, bool by_copies);

// Bytes that cross between the SMs and the L2 where `bytes` of the array are asked for: each row takes the sectors that
// it touches whole, though it may share the first and last with other rows. Dense rows do so by copies of threads
// alone.
std::int64_t in_sectors_of_rows(const BoundIsland& bound, ArrayId id, std::int64_t bytes, bool loads);

}  // namespace tilescope
