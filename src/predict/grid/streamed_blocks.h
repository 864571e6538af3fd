// Blocks that stream tiles of their own from memory and work on each: memory and units as a closed network.
//
// A block has a few tiles on their way and asks for the next one when it begins the next step, or when it has left a
// buffer. Pieces in flight are served in random order, so the latency of a tile varies, and an SM that is nearly as
// busy as memory cannot recover from a late tile. Where blocks are few steps long, or work takes nearly as long as
// bytes, the last blocks end well after memory has served its last byte: neither bytes over bandwidth nor clocks of
// steps tell that, nor the greater of the two.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "predict/grid/placement.h"

namespace tilescope {

struct StreamedBlocks {
  std::span<const std::int64_t> steps;  // of each block, one tile a step, in issue order
  std::int64_t units = 1, resident = 1;
  std::int64_t ahead = 1;      // tiles that a block asks for before its first step
  bool asks_at_end = false;    // for the next one when a step ends; false: when it begins
  std::int64_t pieces = 1;     // of a tile, which come apart from each other
  double service = 0;          // s in which memory serves a tile, were it alone
  double latency = 0;          // s a piece takes besides, with nothing in the way
  double start = 0, lead = 0;  // s from a block's end to the next one's start; from its start until it asks
  double trail = 0;            // of a block after its last step, in steps
  unsigned seed = 1;           // of the order in which pieces come
  std::array<double, most_resident> step{};  // s of a step on a unit where so many blocks are at theirs
};

struct Streamed {
  double seconds = 0;  // until the last block ends
  double busy = 0;     // that a unit holds a block, mean over the units
};

// Equal inputs give equal times. O(pieces + steps log units).
Streamed stream_blocks(const StreamedBlocks& blocks);

}  // namespace tilescope
