// Bytes that stores move when they take whole sectors.
#pragma once

#include <cstdint>

namespace tilescope {

// `lines` rows of `length` elements lie one behind the other in memory; each is stored in segments of `segment`
// elements (the last may be shorter), one store instruction a segment, and a store moves every sector it touches whole.
// Bytes moved. segment and sector sizes in elements are positive. Throws CountOverflow.
std::int64_t sector_stores(std::int64_t lines, std::int64_t length, std::int64_t segment, std::int64_t element_bytes,
                           std::int64_t sector_bytes);

}  // namespace tilescope
