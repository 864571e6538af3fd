#include "cost/mask_ends.h"

#include <algorithm>

#include "base/checked.h"
#include "cost/live_tiles.h"

namespace tilescope {
namespace {

bool have_ends(const Nest& nest) { return !nest.keys_are_chunked() && nest.mask->contiguous(); }

// The sums less the keys that each `rows` rows of a block leave out: `left` of the block's tiles of keys, and of what
// these rows see in tiles of `seen_tile` keys.
template <class Left>
NestSums less_by_rows(const Nest& nest, NestSums sums, std::int64_t rows, std::int64_t seen_tile, const Left& left) {
  const BoundLoop &query = nest.loops[static_cast<std::size_t>(nest.query_loop)],
                  &key = nest.loops[static_cast<std::size_t>(nest.key_loop)];
  const LiveTiles tiles = nest.live_tiles(), seen(*nest.mask, query.size, key.size, rows, seen_tile);
  std::int64_t keys = 0;  // for each `rows` rows
  for (std::int64_t tile = 0; tile < query.trips; ++tile) {
    const TileRange range = tiles.keys_of(tile);
    if (range.empty()) continue;
    for (std::int64_t row = tile * query.tile; row < (tile + 1) * query.tile; row += rows)
      keys += left(range, seen.keys_of(std::min(row / rows, seen.query_tiles() - 1)));
  }
  sums.tiles.keys_pairs -= keys * rows / query.tile;
  sums.tiles.area -= keys * rows;
  return sums;
}

}  // namespace

NestSums stopped(const Nest& nest, NestSums sums, std::int64_t multiple, bool whole_tiles) {
  if (multiple == 0 || !have_ends(nest)) return sums;
  const BoundLoop &query = nest.loops[static_cast<std::size_t>(nest.query_loop)],
                  &key = nest.loops[static_cast<std::size_t>(nest.key_loop)];
  const LiveTiles seen(*nest.mask, query.size, key.size, query.tile, 1);  // to the key
  for (std::int64_t tile = 0; tile < query.trips; ++tile) {
    const TileRange keys = seen.keys_of(tile);
    if (keys.empty()) continue;
    const std::int64_t start = (keys.end - 1) / key.tile * key.tile,
                       end = whole_tiles ? start + key.tile : std::min(start + key.tile, key.size);
    const std::int64_t behind =
        std::max<std::int64_t>(0, end - start - ceil_div(keys.end - start, multiple) * multiple);
    sums.tiles.keys_pairs -= behind;
    sums.tiles.area -= behind * (whole_tiles ? query.tile : seen.rows(tile));
  }
  return sums;
}

NestSums narrowed(const Nest& nest, NestSums sums, std::int64_t rows, std::int64_t keys) {
  if (keys == 0 || !have_ends(nest)) return sums;
  const std::int64_t tile = nest.loops[static_cast<std::size_t>(nest.key_loop)].tile;
  return less_by_rows(nest, sums, rows, 1, [&](const TileRange& tiles, const TileRange& seen) {
    const std::int64_t taken = std::max<std::int64_t>(1, seen.end - (tiles.end - 1) * tile);
    return std::max<std::int64_t>(0, tile - ceil_div(taken, keys) * keys);
  });
}

NestSums with_own_last_tiles(const Nest& nest, NestSums sums, std::int64_t rows) {
  if (rows == 0 || !have_ends(nest)) return sums;
  const std::int64_t tile = nest.loops[static_cast<std::size_t>(nest.key_loop)].tile;
  return less_by_rows(nest, sums, rows, tile, [&](const TileRange& tiles, const TileRange& seen) {
    return tile * (tiles.end - std::clamp(seen.empty() ? tiles.first : seen.end, tiles.first, tiles.end));
  });
}

}  // namespace tilescope
