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

// A mask on a q_len x kv_len grid cut into tile_q x tile_kv tiles. Bands (causal, window) have contiguous live ranges.
class LiveTiles {
 public:
  LiveTiles(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t tile_q, std::int64_t tile_kv);
  // The same mask on the keys first_key ... first_key + key_count - 1 alone, with tiles counted from first_key: one
  // chunk of a split.
  LiveTiles(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t tile_q, std::int64_t tile_kv,
            std::int64_t first_key, std::int64_t key_count);

  std::int64_t query_tiles() const { return query_tiles_; }
  std::int64_t key_tiles() const { return key_tiles_; }
  bool is_band() const { return mask_->kind != MaskKind::blocks; }
  std::int64_t first_live_query() const;  // bands only: every query tile from here on sees a key
  bool live(std::int64_t query_tile, std::int64_t key_tile) const;
  TileRange keys_of(std::int64_t query_tile) const;   // bands only: live key tiles
  TileRange queries_of(std::int64_t key_tile) const;  // bands only: live query tiles
  // From the first to the last live tile, whatever lies between: any mask.
  TileRange key_span(std::int64_t query_tile) const;
  TileRange query_span(std::int64_t key_tile) const;
  std::int64_t rows(std::int64_t query_tile) const;  // clipped extent
  std::int64_t keys(TileRange key_tiles) const;      // clipped extent of consecutive key tiles

  // O(1) without a mask, O(log) for a band, O(query tiles) for a band on one chunk, O(tile pairs) for a block pattern.
  // Throws CountOverflow.
  LiveSums sums(bool whole_tiles) const;

 private:
  LiveSums unmasked_sums(bool whole_tiles) const;
  LiveSums band_sums(bool whole_tiles) const;
  LiveSums chunk_sums(bool whole_tiles) const;
  LiveSums block_sums(bool whole_tiles) const;
  bool blocks_touch(std::int64_t query_tile, std::int64_t key_tile) const;

  const Mask* mask_;
  std::int64_t q_len_, kv_len_, tile_q_, tile_kv_, query_tiles_, key_tiles_;
  std::int64_t highest_offset_, lowest_offset_;  // query p sees keys p + lowest .. p + highest
  std::int64_t first_key_ = 0;
  bool chunk_ = false;
};

// Whether query p sees key y: the definition the tiles are derived from, used by the brute-force walk.
bool sees(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t query, std::int64_t key);

}  // namespace tilescope
