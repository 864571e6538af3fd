// Values that every lane of a row reads for itself, in whole sectors.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// Whole bytes of an element, at least one.
std::int64_t element_bytes(const BoundIsland& bound, ArrayId id);

// Bytes that enter the SMs for an array of one value a row and step that every lane of a row reads for itself: a warp's
// instruction moves the sectors of the rows that the warp has, whole; a row of several warps is read by each. Lanes
// that take steps side by side read values that lie all rows apart. Rows are one behind the other in memory. 0: the
// array is not read so.
std::int64_t sector_read_bytes(const BoundIsland& bound, ArrayId id);

}  // namespace tilescope
