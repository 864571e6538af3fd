// What a walk counts of each stream of tiles.
#pragma once

#include <array>
#include <cstdint>

#include "predict/l2/cache/frames.h"
#include "predict/l2/walk/tiles.h"
#include "predict/l2/walk/walk.h"

namespace tilescope {

struct WalkCounts {
  static constexpr int most_streams = 16;
  // Uses of an L2 that carries them out later, and their tally.
  enum Tallied { reads, stores, additions, unasked };
  static int tally(Tallied what, std::size_t stream) { return what * most_streams + static_cast<int>(stream); }
  static_assert(4 * most_streams <= FrameSweep::uncounted);

  // By stream, bytes: fetched and written again, and of those fetched what memory supplied.
  std::array<std::int64_t, most_streams> fetched{}, written{}, from_memory{};

  // Adds what an L2 that carried uses out later has tallied.
  void add(const L2Cache::Tallies& tallies);
  // Bytes of a stream belong to its arrays by their shares of a tile.
  void give(const TileStreams& tiles, L2Walk& out) const;
};

}  // namespace tilescope
