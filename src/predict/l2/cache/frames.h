// Local memory in the L2: the frames of the blocks that run at once. A block's steps sweep its frame from its first
// byte to its last, place by place: they store to a place, and load once what they stored some places ago. So each
// place is stored to again when all of the frame was, and contents of age `a` were stored a / places of a frame ago.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernel/descriptor/descriptor.h"
#include "predict/l2/cache/cache.h"

namespace tilescope {

// Frames of equal size: of each block that runs at once, in places that a step touches one after the other.
struct LocalFrames {
  std::int64_t bytes = 0;      // of a block; 0: nothing is spilled
  std::int64_t of_a_unit = 1;  // that a unit's local memory has room for: warps beyond those that run have theirs too
  std::array<double, local_ages> loaded_after{1};  // parts of the loads by the age of what they load
  int places() const;                              // a power of two, at most most_places
  static constexpr int most_places = 16;
};

// What the accesses of one age met: bytes, and those that came from DRAM (loads) or whose contents had gone there
// (stores).
struct FrameAge {
  double bytes = 0, moved = 0;
  double part() const { return bytes > 0 ? moved / bytes : 0; }
};

struct FrameTraffic {
  FrameAge loads;                // of all ages, in the shares of loaded_after
  std::vector<FrameAge> stores;  // by age in places; [places] is that of a whole frame. Empty: no frames
};

class FrameSweep {
 public:
  // Appends the frames' places to the pieces of the cache's entries, in address order; slot s runs on unit s % units.
  FrameSweep(const LocalFrames& frames, std::size_t slots, std::size_t units, std::vector<CachePiece>& pieces,
             std::vector<int>& first);

  // The block in the slot stores its place, and loads those whose contents have the age at which they are loaded; one
  // other age of its frame is looked at.
  void touch(L2Cache& cache, std::size_t slot, int place, int side);
  // The touches' tallies in a cache: contents that a look at age a found gone are at first_tally + a.
  static constexpr int first_tally = L2Cache::most_tallies - LocalFrames::most_places - 1, stores = first_tally - 1,
                       loads = first_tally - 2, uncounted = first_tally - 3;  // uncounted: of a block's first sweep
  // Adds what the touches met in a cache.
  void count(const L2Cache::Tallies& tallies);
  const FrameTraffic& traffic() const { return traffic_; }
  // Places after its store at which a place of the slot is loaded: a fixed sequence with the shares of loaded_after.
  int loaded_age(std::size_t slot, int place) const;

 private:
  int entry(std::size_t slot, int place) const;

  int places_ = 0, first_entry_ = 0;
  std::int64_t touched_ = 0;
  std::int64_t place_bytes_ = 0;
  std::vector<std::int64_t> touches_;    // by slot
  std::vector<std::int8_t> loaded_age_;  // by slot and place
  std::vector<std::uint32_t> loads_;     // by slot and place: a bit an age of the contents that are loaded there
  FrameTraffic traffic_;
};

}  // namespace tilescope
