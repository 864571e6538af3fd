// An island's loop nest bound to sizes, tiles and a mask: everything the transfer rule and the walk need.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/checked.h"
#include "cost/live_tiles.h"
#include "schedule/schedule.h"

namespace tilescope {

// Axes as a bit an AxisId.
using AxisBits = std::uint32_t;
static_assert(max_axes <= 32);
constexpr AxisBits bit(AxisId axis) { return AxisBits{1} << static_cast<unsigned>(axis); }
constexpr AxisBits bits(std::span<const AxisId> axes) {
  AxisBits all = 0;
  for (const AxisId axis : axes) all |= bit(axis);
  return all;
}

struct BoundLoop {
  AxisId axis;
  bool group;
  std::int64_t size, tile, trips;
  AxisBits moves = 0;  // arrays with one of these axes: the loop's own, and the one whose chunks it counts
};

// A split axis: an outer loop over its chunks and an inner one over tiles that restart in every chunk.
struct Chunked {
  int outer = -1, inner = -1;  // positions of the loops; inner -1: a chunk is one tile
  AxisId of{};                 // the axis that is cut
  std::int64_t length = 0;     // of a chunk; the last may be shorter
  std::int64_t tile = 0;       // of the inner loop
  std::int64_t size = 0;       // of the whole axis

  bool present() const { return outer >= 0; }
  std::int64_t length_of(std::int64_t chunk) const {
    return size - chunk * length < length ? size - chunk * length : length;
  }
  std::int64_t chunks() const { return ceil_div(size, length); }
  std::int64_t tiles() const {
    return (chunks() - 1) * ceil_div(length, tile) + ceil_div(length_of(chunks() - 1), tile);
  }
};

// Holds no heap memory, so that sweeps can bind millions of nests.
struct Nest {
  std::array<std::int64_t, max_axes> sizes{};  // by AxisId
  std::array<BoundLoop, max_loops> loops{};
  std::size_t loop_count = 0;
  const Diagram* diagram = nullptr;
  const Mask* mask = nullptr;
  Chunked chunked;
  std::int64_t first_key = 0, keys_in_all = 0;  // of a nest on a part of the keys (part_of); 0: all of them
  int query_loop = -1, key_loop = -1;  // positions of the guarded pair when the island skips masked tiles, else -1

  std::span<const BoundLoop> all() const { return {loops.data(), loop_count}; }
  std::int64_t size(AxisId axis) const { return sizes[index(axis)]; }
  std::int64_t values(std::span<const AxisId> array) const;  // of an array, all its axes. Throws CountOverflow.
  bool guarded() const { return query_loop >= 0; }
  void
  find_guarded_pair();  // sets query_loop and key_loop: where the loops over the diagram's pair stand, -1: no such loop
  const BoundLoop* loop_over(AxisId axis) const;  // nullptr: the axis is taken whole
  std::int64_t blocks() const;                    // iterations of all group loops: the grid. Throws CountOverflow.
  LiveTiles live_tiles() const;                   // of the guarded pair
  LiveTiles live_tiles_of_chunk(std::int64_t chunk) const;  // the same within one chunk of the keys
  Nest part_of(std::int64_t chunk) const;                   // one chunk of the split as a nest of its own
  bool keys_are_chunked() const { return guarded() && chunked.present() && chunked.inner == key_loop; }
  // Whether the array moves with the axis: it has it, or the axis counts the chunks of one that it has.
  bool carries(std::span<const AxisId> array, AxisId axis) const;
  static bool carries(AxisBits array, const BoundLoop& loop) { return (array & loop.moves) != 0; }
};

// Live sums of a guarded nest: over (query tile, key tile) and, where the keys are split, over (query tile, chunk).
struct NestSums {
  LiveSums tiles, chunks;
};
// All zero for a nest that is not guarded. Throws CountOverflow.
NestSums sums_of(const Nest& nest, bool whole_tiles);

// Tiles by position in Schedule::parameters. An island that does not skip masked tiles, or one that lacks a loop over
// either guarded axis, is unguarded: it visits every tile. So is one that splits the queries into parts that it
// streams.
Nest bind_nest(const Schedule& schedule, const Island& island, const Workload& workload, const Mask& mask,
               std::span<const std::int64_t> tiles);

}  // namespace tilescope
