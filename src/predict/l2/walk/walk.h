// Which tile loads hit the L2: the island's blocks run on their units in issue order, step by step, and every tile that
// they touch goes through the cache. An answer, not a closed form: time grows with the steps.
#pragma once

#include <cstdint>

#include "predict/l2/cache/frames.h"
#include "predict/point/bound_island.h"

namespace tilescope {

// Bytes beyond one fetch and one write-back of everything, which is counted exactly elsewhere.
struct WalkedArray {
  std::int64_t fetched_again = 0;      // tiles that had been in an L2 and are fetched once more, by it or by another
  std::int64_t written_again = 0;      // contents that left the L2s and were replaced by newer ones
  std::int64_t from_memory_again = 0;  // of those fetched again, what DRAM supplies: all, but for a last-level cache
  bool operator==(const WalkedArray&) const = default;
};

struct L2Walk {
  std::array<WalkedArray, max_arrays> arrays{};  // by ArrayId
  FrameTraffic frames;                           // of local memory
  std::int64_t steps = 0;
};

struct WalkOptions {
  // Blocks do not run at one speed. 0: all do, a step is a step; 0.1: a block's steps take up to 10 % longer, evenly
  // distributed by a fixed sequence. For looking at sensitivity.
  double drift = 0;
  std::int64_t most_steps = std::int64_t{1} << 26;      // about a second
  std::int64_t most_fragments = std::int64_t{1} << 29;  // that all steps use, of large tiles: some seconds
  LocalFrames frames{};                                 // local memory that competes with the tiles
  bool sleep = true;                                    // pass over steps that change nothing; the result is the same
};

// False: the island has too many steps or tiles, tiles of too many fragments, or tiles that cannot be numbered; the
// closed form answers then. resident_blocks: blocks that run at once on the device.
bool walk_l2(const BoundIsland& bound, const CacheShape& shape, std::int64_t resident_blocks, L2Walk& out,
             const WalkOptions& options = {});

// Steps that the walk takes for a point, over all of its launches, each as often as it has places of local memory; 0
// where the closed form answers.
std::int64_t walk_steps(const Plan& plan, const HardwareProfile& hardware, const Point& point);

}  // namespace tilescope
