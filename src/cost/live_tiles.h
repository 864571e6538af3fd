// Which (query tile, key tile) pairs a mask leaves alive, and sums over them. Exact for ragged lengths.
#pragma once

#include <cstdint>

#include "diagram/workload.h"

namespace tilescope {

// Half-open range of tile numbers.
struct TileRange {
  std::int64_t first = 0, end = 0;
  bool empty() const { return first >= end; }
  std::int64_t count() const { return empty() ? 0 : end - first; }
};

// Sums over live tile pairs. rows, keys: extents of a tile, clipped to the array or whole.
struct LiveSums {
  std::int64_t pairs = 0;                  // live (query tile, key tile) pairs
  std::int64_t rows_pairs = 0;             // sum of rows
  std::int64_t keys_pairs = 0;             // sum of keys
  std::int64_t area = 0;                   // sum of rows * keys
  std::int64_t query_tiles = 0, rows = 0;  // query tiles with a live key tile, and their rows
  std::int64_t key_tiles = 0, keys = 0;    // key tiles with a live query tile, and their keys
};

// A mask on a q_len x kv_len grid cut into tile_q x tile_kv tiles.
class LiveTiles {
 public:
  LiveTiles(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t tile_q, std::int64_t tile_kv);
  // The same mask on the keys first_key ... first_key + key_count - 1 alone, with tiles counted from first_key: one
  // chunk of a split.
  LiveTiles(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t tile_q, std::int64_t tile_kv,
            std::int64_t first_key, std::int64_t key_count);

  std::int64_t query_tiles() const { return query_tiles_; }
  std::int64_t key_tiles() const { return key_tiles_; }
  bool live(std::int64_t query_tile, std::int64_t key_tile) const;
  // Query tiles with a live key tile, from the first to the last; every one between is live if the mask is contiguous.
  TileRange live_queries() const;
  // Live tiles from the first to the last; every one between is live if the mask is contiguous.
  TileRange keys_of(std::int64_t query_tile) const;
  TileRange queries_of(std::int64_t key_tile) const;
  std::int64_t live_keys(std::int64_t query_tile) const;   // number of live key tiles
  std::int64_t live_queries(std::int64_t key_tile) const;  // number of live query tiles
  std::int64_t rows(std::int64_t query_tile) const;        // clipped extent
  std::int64_t keys(TileRange key_tiles) const;            // clipped extent of consecutive key tiles

  // O(log) for a contiguous mask, O(tile pairs) for a block pattern. Throws CountOverflow.
  LiveSums sums(bool whole_tiles) const;

 private:
  LiveSums interval_sums(bool whole_tiles) const;
  LiveSums block_sums(bool whole_tiles) const;
  std::int64_t edge_sum(const Edge& edge, std::int64_t row, std::int64_t round, TileRange tiles) const;
  std::int64_t first_tile_past(const Edge& edge, std::int64_t row, std::int64_t key, TileRange tiles) const;
  bool blocks_touch(std::int64_t query_tile, std::int64_t key_tile) const;

  const Mask* mask_;
  std::int64_t q_len_, kv_len_, tile_q_, tile_kv_, query_tiles_, key_tiles_;
  KeyInterval keys_;  // of a contiguous mask
  std::int64_t first_key_ = 0;
};

// Sums over single pairs, or over the blocks of a pattern: visible pairs in `area`, rows that see a key, keys seen.
LiveSums visible_pairs(const Mask& mask, std::int64_t q_len, std::int64_t kv_len);

// Whether query p sees key y: the definition the tiles are derived from, used by the brute-force walk.
bool sees(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t query, std::int64_t key);

}  // namespace tilescope
