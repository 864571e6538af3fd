// Bytes that stores move when they take whole sectors.
#pragma once

#include <cstdint>

namespace tilescope {

// Sectors of elements [first, first + count) of each of `lines` lines of `length` elements that lie one behind the
// other in memory, accessed in segments of `segment` elements from `first` on (the last may be shorter), one
// instruction a segment. Bytes moved, whole sectors; sizes as below. Throws CountOverflow.
std::int64_t sector_accesses(std::int64_t lines, std::int64_t length, std::int64_t first, std::int64_t count,
                             std::int64_t segment, std::int64_t element_bytes, std::int64_t sector_bytes);

// `lines` rows of `length` elements lie one behind the other in memory; each is stored in segments of `segment`
// elements (the last may be shorter), one store instruction a segment, and a store moves every sector it touches whole.
// Bytes moved. segment and sector sizes in elements are positive. Throws CountOverflow.
std::int64_t sector_stores(std::int64_t lines, std::int64_t length, std::int64_t segment, std::int64_t element_bytes,
                           std::int64_t sector_bytes);

// An element at every place of `steps` x `rows` that lie densely, rows next to one another; `lanes` lanes of an
// instruction read one row's elements of as many steps in a row. Bytes moved, whole sectors. All positive. Throws
// CountOverflow.
std::int64_t strided_reads(std::int64_t steps, std::int64_t rows, std::int64_t lanes, std::int64_t element_bytes,
                           std::int64_t sector_bytes);

}  // namespace tilescope
