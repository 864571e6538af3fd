#include "cost/live_tiles.h"

#include <algorithm>

#include "base/checked.h"
#include "base/floor_sum.h"

namespace tilescope {
LiveTiles::LiveTiles(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t tile_q,
                     std::int64_t tile_kv)
    : mask_(&mask),
      q_len_(q_len),
      kv_len_(kv_len),
      tile_q_(tile_q),
      tile_kv_(tile_kv),
      query_tiles_(ceil_div(q_len, tile_q)),
      key_tiles_(ceil_div(kv_len, tile_kv)) {
  if (mask.contiguous()) keys_ = mask.keys(q_len, kv_len);
}

LiveTiles::LiveTiles(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t tile_q,
                     std::int64_t tile_kv, std::int64_t first_key, std::int64_t key_count)
    : LiveTiles(mask, q_len, kv_len, tile_q, tile_kv) {
  kv_len_ = key_count;
  key_tiles_ = ceil_div(key_count, tile_kv);
  keys_ = {keys_.begin.on(first_key, key_count), keys_.end.on(first_key, key_count)};
  first_key_ = first_key;
}

bool LiveTiles::live(std::int64_t query_tile, std::int64_t key_tile) const {
  if (!mask_->contiguous()) return blocks_touch(query_tile, key_tile);
  const TileRange range = keys_of(query_tile);
  return key_tile >= range.first && key_tile < range.end;
}

TileRange LiveTiles::live_queries() const {
  if (mask_->contiguous()) {
    const TileRange all{0, query_tiles_};
    const std::int64_t first = keys_.end.first_row_past(0, q_len_);
    return {first < q_len_ ? first / tile_q_ : query_tiles_, first_tile_past(keys_.begin, 0, kv_len_ - 1, all)};
  }
  TileRange span;
  for (std::int64_t i = 0; i < query_tiles_; ++i)
    if (live_keys(i) > 0) span = {span.empty() ? i : span.first, i + 1};
  return span;
}

TileRange LiveTiles::keys_of(std::int64_t query_tile) const {
  if (mask_->contiguous()) {
    const std::int64_t first_row = query_tile * tile_q_;
    const std::int64_t first_key = keys_.begin.at(first_row);
    const std::int64_t end_key = keys_.end.at(std::min(first_row + tile_q_, q_len_) - 1);
    return end_key <= first_key ? TileRange{} : TileRange{first_key / tile_kv_, (end_key - 1) / tile_kv_ + 1};
  }
  TileRange span;
  for (std::int64_t j = 0; j < key_tiles_; ++j)
    if (blocks_touch(query_tile, j)) span = {span.empty() ? j : span.first, j + 1};
  return span;
}

TileRange LiveTiles::queries_of(std::int64_t key_tile) const {
  if (mask_->contiguous()) {
    const std::int64_t first_key = key_tile * tile_kv_;
    const std::int64_t first_row = keys_.end.first_row_past(first_key, q_len_);
    const std::int64_t end_row = keys_.begin.first_row_past(std::min(first_key + tile_kv_, kv_len_) - 1, q_len_);
    return end_row <= first_row ? TileRange{} : TileRange{first_row / tile_q_, (end_row - 1) / tile_q_ + 1};
  }
  TileRange span;
  for (std::int64_t i = 0; i < query_tiles_; ++i)
    if (blocks_touch(i, key_tile)) span = {span.empty() ? i : span.first, i + 1};
  return span;
}

std::int64_t LiveTiles::live_keys(std::int64_t query_tile) const {
  if (mask_->contiguous()) return keys_of(query_tile).count();
  std::int64_t count = 0;
  for (std::int64_t j = 0; j < key_tiles_; ++j) count += blocks_touch(query_tile, j);
  return count;
}

std::int64_t LiveTiles::live_queries(std::int64_t key_tile) const {
  if (mask_->contiguous()) return queries_of(key_tile).count();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < query_tiles_; ++i) count += blocks_touch(i, key_tile);
  return count;
}

std::int64_t LiveTiles::rows(std::int64_t query_tile) const { return std::min(tile_q_, q_len_ - query_tile * tile_q_); }

std::int64_t LiveTiles::keys(TileRange key_tiles) const {
  return key_tiles.empty() ? 0 : std::min(key_tiles.end * tile_kv_, kv_len_) - key_tiles.first * tile_kv_;
}

LiveSums LiveTiles::sums(bool whole_tiles) const {
  return mask_->contiguous() ? interval_sums(whole_tiles) : block_sums(whole_tiles);
}

// The first of `tiles` whose row number `row` has its edge past `key`; their end: none has.
std::int64_t LiveTiles::first_tile_past(const Edge& edge, std::int64_t row, std::int64_t key, TileRange tiles) const {
  const std::int64_t rows = tiles.end * tile_q_;
  const std::int64_t first = edge.first_row_past(key, rows);
  return first >= rows ? tiles.end
                       : std::clamp(ceil_div(std::max<std::int64_t>(0, first - row), tile_q_), tiles.first, tiles.end);
}

// Sum over `tiles` of floor((edge of the tile's row number `row` + round) / tile_kv): the edge stands still, moves
// evenly, and stands still again.
std::int64_t LiveTiles::edge_sum(const Edge& edge, std::int64_t row, std::int64_t round, TileRange tiles) const {
  const std::int64_t leaves = first_tile_past(edge, row, edge.least, tiles);
  const std::int64_t arrives = std::max(leaves, first_tile_past(edge, row, edge.most - 1, tiles));
  const std::int64_t moving =
      arrives > leaves ? floor_sum(arrives - leaves, tile_kv_, tile_q_, leaves * tile_q_ + row + edge.offset + round)
                       : 0;
  const std::int64_t before = checked_mul(leaves - tiles.first, (edge.least + round) / tile_kv_),
                     after = checked_mul(tiles.end - arrives, (edge.most + round) / tile_kv_);
  return checked_add(checked_add(before, moving), after);
}

// Intervals move right: the live query tiles follow each other, and both ends of what they see are floors of
// arithmetic progressions that stop where an edge stands still. Only the last query tile may be partial.
LiveSums LiveTiles::interval_sums(bool whole_tiles) const {
  const TileRange live = live_queries();
  if (live.empty()) return {};
  const std::int64_t last = live.end - 1;
  const TileRange full{live.first, last};  // query tiles before the last one
  const std::int64_t pairs = edge_sum(keys_.end, tile_q_ - 1, tile_kv_ - 1, full) - edge_sum(keys_.begin, 0, 0, full);
  // Query tiles whose range ends in the last key tile, which may be partial.
  const std::int64_t at_end = last - first_tile_past(keys_.end, tile_q_ - 1, (key_tiles_ - 1) * tile_kv_, full);
  const std::int64_t excess = whole_tiles ? 0 : key_tiles_ * tile_kv_ - kv_len_;
  const std::int64_t key_count = checked_mul(pairs, tile_kv_) - checked_mul(at_end, excess);

  const TileRange range = keys_of(last), seen{keys_of(live.first).first, range.end};
  const std::int64_t last_rows = whole_tiles ? tile_q_ : rows(last);
  const std::int64_t last_keys = whole_tiles ? range.count() * tile_kv_ : keys(range);
  return {.pairs = checked_add(pairs, range.count()),
          .rows_pairs = checked_add(checked_mul(pairs, tile_q_), checked_mul(range.count(), last_rows)),
          .keys_pairs = checked_add(key_count, last_keys),
          .area = checked_add(checked_mul(key_count, tile_q_), checked_mul(last_keys, last_rows)),
          .query_tiles = live.count(),
          .rows = checked_add(checked_mul(full.count(), tile_q_), last_rows),
          .key_tiles = seen.count(),
          .keys = whole_tiles ? seen.count() * tile_kv_ : keys(seen)};
}

LiveSums LiveTiles::block_sums(bool whole_tiles) const {
  LiveSums total;
  std::vector<bool> key_seen(static_cast<std::size_t>(key_tiles_), false);
  for (std::int64_t i = 0; i < query_tiles_; ++i) {
    const std::int64_t row_count = whole_tiles ? tile_q_ : rows(i);
    bool any = false;
    for (std::int64_t j = 0; j < key_tiles_; ++j) {
      if (!blocks_touch(i, j)) continue;
      const std::int64_t key_count = whole_tiles ? tile_kv_ : keys({j, j + 1});
      any = true;
      total.pairs += 1;
      total.rows_pairs = checked_add(total.rows_pairs, row_count);
      total.keys_pairs = checked_add(total.keys_pairs, key_count);
      total.area = checked_add(total.area, checked_mul(row_count, key_count));
      if (!key_seen[static_cast<std::size_t>(j)]) total.key_tiles += 1, total.keys += key_count;
      key_seen[static_cast<std::size_t>(j)] = true;
    }
    if (any) total.query_tiles += 1, total.rows += row_count;
  }
  return total;
}

bool LiveTiles::blocks_touch(std::int64_t query_tile, std::int64_t key_tile) const {
  const Mask::Blocks& blocks = *mask_->blocks;
  const std::int64_t last_row = std::min((query_tile + 1) * tile_q_, q_len_) - 1;
  const std::int64_t first_key = first_key_ + key_tile * tile_kv_;
  const std::int64_t last_key = first_key_ + std::min((key_tile + 1) * tile_kv_, kv_len_) - 1;
  for (std::int64_t i = query_tile * tile_q_ / blocks.block_q; i <= last_row / blocks.block_q; ++i)
    for (std::int64_t j = first_key / blocks.block_kv; j <= last_key / blocks.block_kv; ++j)
      if (blocks.live[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]) return true;
  return false;
}

LiveSums visible_pairs(const Mask& mask, std::int64_t q_len, std::int64_t kv_len) {
  const std::int64_t rows = mask.blocks ? mask.blocks->block_q : 1, keys = mask.blocks ? mask.blocks->block_kv : 1;
  return LiveTiles(mask, q_len, kv_len, rows, keys).sums(false);
}

bool sees(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t query, std::int64_t key) {
  if (!mask.contiguous())
    return mask.blocks->live[static_cast<std::size_t>(query / mask.blocks->block_q)]
                            [static_cast<std::size_t>(key / mask.blocks->block_kv)];
  const KeyInterval keys = mask.keys(q_len, kv_len);
  return key >= keys.begin.at(query) && key < keys.end.at(query);
}

}  // namespace tilescope
