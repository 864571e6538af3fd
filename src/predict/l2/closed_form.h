// A first model of what L2 keeps from DRAM: blocks in issue order, resident blocks in lock step, LRU (Napkin, arXiv
// 2412.03317, section 4.4, theorem 2: intermediate caching). A closed form over waves of resident blocks.
#pragma once

#include <cstdint>

#include "cost/nest.h"
#include "cost/plain_count.h"
#include "cost/transfer.h"

namespace tilescope {

// How an array's reused slice is spread over several L2s that share no line, to which blocks are dealt in turn. One L2:
// all 1.
struct Spread {
  std::int64_t of_tile = 1;   // L2s that have a block of those that share a tile
  std::int64_t of_slice = 1;  // L2s that have a block of those that share the slice
};

struct CacheState {
  std::int64_t resident_blocks = 1;  // thread blocks that run at once on the units of the cache
  double capacity_bytes = 0;         // effective for data all units share
};

// Per array of an island: the part of it that blocks share and read again. Which loops share it follows from the order
// of the loops and from which of them move.
struct ReuseLoops {
  int first_loop = -1;         // outermost loop that repeats the array; -1: nothing repeats
  PlainCount slice;            // distinct values of the array inside one iteration of the loops outside first_loop
  PlainCount blocks;           // blocks inside one such iteration,
  PlainCount repeats, inside;  // of them, those that share the slice, and those that read it once together
  bool sweeps = false;         // a block's streams come back to its part of the slice
  bool any() const { return first_loop >= 0; }
};
ReuseLoops reuse_loops(const Nest& nest, const Array& array);

// The same as numbers.
struct Reuse {
  bool any = false;
  std::int64_t slice_values = 0, blocks = 1, repeats = 1, inside = 1;
  bool sweeps = false;
};
Reuse reuse_of(const ReuseLoops& loops, const Nest& nest);
inline Reuse reuse_of(const Nest& nest, const Array& array) { return reuse_of(reuse_loops(nest, array), nest); }

// `nest` in issue order; `dealt` consecutive blocks go to one of `caches` L2s before the next one's turn.
Spread spread_of(const Nest& nest, const Array& array, std::int64_t caches, std::int64_t dealt);

// Values of the array that DRAM supplies, given that `working_set_bytes` (all reused slices of the running heads)
// either fits the cache or not. Of several caches: what all of them read. `bytes_per_key_value` scales ranges of keys
// to bytes for the mask's wave-by-wave growth.
struct DramRead {
  std::int64_t values = 0;
  bool fits = true;
};
DramRead dram_read(const Nest& nest, const NestSums& live, const Array& array, const Reuse& reuse,
                   const CacheState& cache, const Spread& spread, double working_set_bytes,
                   double slice_bytes_all_arrays);
// The same of a plain nest.
struct ReadForms {
  PlainCount distinct, touched;  // values, and those that blocks touch in all
  ReuseLoops reuse;
};
DramRead plain_dram_read(const ReadForms& array, const Nest& nest, const CacheState& cache, const Spread& spread,
                         double working_set_bytes);

}  // namespace tilescope
