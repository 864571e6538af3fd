#include "cost/mask_ends.h"

#include <algorithm>

#include "base/checked.h"
#include "cost/live_tiles.h"

namespace tilescope {

NestSums stopped(const Nest& nest, NestSums sums, std::int64_t multiple, bool whole_tiles) {
  if (multiple == 0 || nest.keys_are_chunked() || !nest.mask->contiguous()) return sums;
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
  if (keys == 0 || nest.keys_are_chunked() || !nest.mask->contiguous()) return sums;
  const BoundLoop &query = nest.loops[static_cast<std::size_t>(nest.query_loop)],
                  &key = nest.loops[static_cast<std::size_t>(nest.key_loop)];
  const LiveTiles tiles = nest.live_tiles(), seen(*nest.mask, query.size, key.size, rows, 1);
  std::int64_t left = 0;  // keys, for each `rows` rows
  for (std::int64_t tile = 0; tile < query.trips; ++tile) {
    const TileRange range = tiles.keys_of(tile);
    if (range.empty()) continue;
    const std::int64_t start = (range.end - 1) * key.tile;
    for (std::int64_t row = tile * query.tile; row < (tile + 1) * query.tile; row += rows) {
      const std::int64_t end = seen.keys_of(std::min(row / rows, seen.query_tiles() - 1)).end;
      left += std::max<std::int64_t>(0, key.tile - ceil_div(std::max<std::int64_t>(1, end - start), keys) * keys);
    }
  }
  sums.tiles.keys_pairs -= left * rows / query.tile;
  sums.tiles.area -= left * rows;
  return sums;
}

NestSums with_own_last_tiles(const Nest& nest, NestSums sums, std::int64_t rows) {
  if (rows == 0 || nest.keys_are_chunked() || !nest.mask->contiguous()) return sums;
  const BoundLoop &query = nest.loops[static_cast<std::size_t>(nest.query_loop)],
                  &key = nest.loops[static_cast<std::size_t>(nest.key_loop)];
  const LiveTiles tiles = nest.live_tiles(), own(*nest.mask, query.size, key.size, rows, key.tile);
  std::int64_t left = 0;  // tiles, for each `rows` rows
  for (std::int64_t tile = 0; tile < query.trips; ++tile) {
    const TileRange range = tiles.keys_of(tile);
    if (range.empty()) continue;
    for (std::int64_t row = tile * query.tile; row < (tile + 1) * query.tile; row += rows) {
      const TileRange seen = own.keys_of(std::min(row / rows, own.query_tiles() - 1));
      left += range.end - std::clamp(seen.empty() ? range.first : seen.end, range.first, range.end);
    }
  }
  sums.tiles.keys_pairs -= left * key.tile * rows / query.tile;
  sums.tiles.area -= left * key.tile * rows;
  return sums;
}

}  // namespace tilescope
