// What blocks leave out of their last tiles of keys under a mask. Contiguous masks on keys that are not cut into parts;
// other sums stay as they are. Rows past the end of a tile see what the last one sees.
#pragma once

#include "cost/nest.h"

namespace tilescope {

// The sums less the keys of each block's last tile that lie behind the last multiple of `multiple` with a key that a
// row of its tile of queries sees.
NestSums stopped(const Nest& nest, NestSums sums, std::int64_t multiple, bool whole_tiles);

// The sums less the scores that no instruction computes: of a block's last tile, each `rows` rows take scores up to a
// multiple of `keys`, one at least, that holds the last key which one of them sees. keys = 0: all of them.
NestSums narrowed(const Nest& nest, NestSums sums, std::int64_t rows, std::int64_t keys);

// The sums less the tiles of keys at a block's end of which no row among `rows` sees a key: its warpgroup leaves them
// out.
NestSums with_own_last_tiles(const Nest& nest, NestSums sums, std::int64_t rows);

}  // namespace tilescope
