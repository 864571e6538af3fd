// One way to read a launch as attention: which blocks share queries and which share keys.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel/describe/launch/launch_sizes.h"

namespace tilescope {

enum class GridAxis { q, heads, batch, splits };
constexpr std::size_t grid_axes = 4;

// Numbers of tiles, heads, entries and parts, and their order in the grid, fastest first.
struct GridReading {
  std::array<std::int64_t, grid_axes> sizes{1, 1, 1, 1};  // by GridAxis
  std::array<GridAxis, grid_axes> order{GridAxis::q, GridAxis::heads, GridAxis::batch, GridAxis::splits};
  std::int64_t group = 1;  // neighbouring heads that share keys
  bool q_falls = false;    // the first block of a head takes its last tile

  std::int64_t size(GridAxis axis) const { return sizes[static_cast<std::size_t>(axis)]; }
  std::int64_t blocks() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  std::array<std::int64_t, grid_axes> indices_of(std::int64_t linear) const;  // by GridAxis
};

// A tile that was visited: its place in the grid, and what its block reads of the keys and of the queries.
struct ReadTile {
  std::int64_t linear = 0;  // place of the block, or of the tile of a persistent block
  std::int64_t first_key = 0, key_steps = 0;
  std::optional<std::int64_t> query;
};

// The strides in bytes at which tiles read, as all tiles agree on them; none where only one index was visited.
struct ReadStrides {
  std::optional<std::int64_t> key_head, key_batch, query_tile, query_head, query_batch;
};

// The visited tiles of a launch with the arrays that hold keys and queries.
struct ReadLaunch {
  std::vector<ReadTile> tiles;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::int64_t key_step = 0;  // bytes, without its sign; 0: no block reads two steps
  std::int64_t most_steps = 0;
  bool persistent = false, falling = false;
  bool claims = false;  // blocks claim tiles: the first of each is known, the number of each is not
  bool idle = false;    // a block reads no keys: which tile it takes may depend on memory
  std::map<std::int64_t, std::int64_t> tiles_of_block;  // of a persistent launch
};
std::optional<ReadLaunch> read_launch(const LaunchEvidence& evidence);

// The strides, if blocks that the reading gives the same keys or queries read the same bytes and others do not.
// `starts`: first step of each query tile, by tile; empty: each begins with the first key. `part_steps`: steps of a
// part.
std::optional<ReadStrides> strides_of(const ReadLaunch& launch, const GridReading& reading,
                                      const std::vector<std::int64_t>& starts, std::int64_t part_steps);

// Whether the sizes in this order are the grid's, one after the other or several in one.
bool fits_grid(const GridReading& reading, const std::array<std::int64_t, 3>& grid);

}  // namespace tilescope
