// An island's loop nest bound to sizes, tiles and a mask: everything the transfer rule and the walk need.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cost/live_tiles.h"
#include "schedule/schedule.h"

namespace tilescope {

struct BoundLoop {
  AxisId axis;
  bool group;
  std::int64_t size, tile, trips;
};

// Holds no heap memory, so that sweeps can bind millions of nests.
struct Nest {
  std::array<std::int64_t, max_axes> sizes{};  // by AxisId
  std::array<BoundLoop, max_loops> loops{};
  std::size_t loop_count = 0;
  const Diagram* diagram = nullptr;
  const Mask* mask = nullptr;
  int query_loop = -1, key_loop = -1;  // positions of the guarded pair when the island skips masked tiles, else -1

  std::span<const BoundLoop> all() const { return {loops.data(), loop_count}; }
  std::int64_t size(AxisId axis) const { return sizes[index(axis)]; }
  bool guarded() const { return query_loop >= 0; }
  const BoundLoop* loop_over(AxisId axis) const;  // nullptr: the axis is taken whole
  std::int64_t blocks() const;                    // iterations of all group loops: the grid. Throws CountOverflow.
  LiveTiles live_tiles() const;  // of the guarded pair
};

// Tiles by position in Schedule::parameters. An island that does not skip masked tiles, or one that lacks a loop over
// either guarded axis, is unguarded: it visits every tile.
Nest bind(const Schedule& schedule, const Island& island, const Workload& workload, const Mask& mask,
          std::span<const std::int64_t> tiles);

}  // namespace tilescope
