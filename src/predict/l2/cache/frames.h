// Local memory in the L2: the frames of the blocks that run at once. A block's steps sweep its frame from its first
// byte to its last, place by place. So each place is touched again when all of the frame was, and the lines that a
// place of age `a` still has are those of an access to bytes that were last touched a / places of a frame ago.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/l2/cache/cache.h"

namespace tilescope {

// Frames of equal size: of each block that runs at once, in places that a step touches one after the other.
struct LocalFrames {
  std::int64_t bytes = 0;      // of a block; 0: nothing is spilled
  std::int64_t of_a_unit = 1;  // that a unit's local memory has room for: warps beyond those that run have theirs too
  int places() const;          // a power of two, at most most_places
  static constexpr int most_places = 16;
};

// What the accesses of one age met: bytes touched, those that came from DRAM, those whose contents had gone there.
struct FrameAge {
  double touched = 0, missing = 0, written = 0;
  double missing_part() const { return touched > 0 ? missing / touched : 0; }
  double written_part() const { return touched > 0 ? written / touched : 0; }
};

// By age in places; [places] is that of a whole frame.
using FrameAges = std::vector<FrameAge>;

class FrameSweep {
 public:
  // Appends the frames' places to the pieces of the cache's entries, in address order; slot s runs on unit s % units.
  FrameSweep(const LocalFrames& frames, std::size_t slots, std::size_t units, std::vector<CachePiece>& pieces,
             std::vector<int>& first);

  // The block in the slot stores and loads its place; one other age of its frame is looked at.
  // Its tallies: what was missing and overwritten at age a is at first_tally + a, of a whole frame's in `stores`.
  void touch(L2Cache& cache, std::size_t slot, int place, int side);
  static constexpr int first_tally = L2Cache::most_tallies - LocalFrames::most_places - 1, stores = first_tally - 1,
                       first_stores = first_tally - 2;
  // Adds what the touches met in a cache.
  void count(const L2Cache::Tallies& tallies);
  const FrameAges& ages() const { return ages_; }

 private:
  int entry(std::size_t slot, int place) const;

  int places_ = 0, first_entry_ = 0;
  std::int64_t touched_ = 0;
  std::int64_t place_bytes_ = 0;
  std::vector<std::int64_t> touches_;  // by slot
  FrameAges ages_;
};

}  // namespace tilescope
