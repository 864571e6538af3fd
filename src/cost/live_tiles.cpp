#include "cost/live_tiles.h"

#include <algorithm>

#include "base/checked.h"
#include "base/floor_sum.h"

namespace tilescope {
namespace {

// floor(a / b) for b > 0 and any a.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

}  // namespace

LiveTiles::LiveTiles(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t tile_q,
                     std::int64_t tile_kv)
    : mask_(&mask),
      q_len_(q_len),
      kv_len_(kv_len),
      tile_q_(tile_q),
      tile_kv_(tile_kv),
      query_tiles_(ceil_div(q_len, tile_q)),
      key_tiles_(ceil_div(kv_len, tile_kv)) {
  const bool bounded_above = mask.kind == MaskKind::causal || mask.kind == MaskKind::window;
  highest_offset_ = bounded_above ? kv_len - q_len : kv_len;
  lowest_offset_ = mask.kind == MaskKind::window ? kv_len - q_len - mask.window + 1 : -q_len;
}

LiveTiles::LiveTiles(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t tile_q,
                     std::int64_t tile_kv, std::int64_t first_key, std::int64_t key_count)
    : LiveTiles(mask, q_len, kv_len, tile_q, tile_kv) {
  kv_len_ = key_count;
  key_tiles_ = ceil_div(key_count, tile_kv);
  highest_offset_ -= first_key;
  lowest_offset_ -= first_key;
  first_key_ = first_key;
  chunk_ = true;
}

TileRange LiveTiles::keys_of(std::int64_t query_tile) const {
  const std::int64_t first_row = query_tile * tile_q_;
  const std::int64_t last_row = std::min(first_row + tile_q_, q_len_) - 1;
  const std::int64_t first_key = std::max<std::int64_t>(0, first_row + lowest_offset_);
  const std::int64_t last_key = std::min(kv_len_ - 1, last_row + highest_offset_);
  if (last_key < first_key) return {};
  return {first_key / tile_kv_, last_key / tile_kv_ + 1};
}

std::int64_t LiveTiles::first_live_query() const {
  return highest_offset_ >= 0 ? 0 : std::min(query_tiles_ - 1, ceil_div(1 - highest_offset_, tile_q_) - 1);
}

TileRange LiveTiles::queries_of(std::int64_t key_tile) const {
  const std::int64_t first_key = key_tile * tile_kv_;
  const std::int64_t last_key = std::min(first_key + tile_kv_, kv_len_) - 1;
  const std::int64_t first_row = std::max<std::int64_t>(0, first_key - highest_offset_);
  const std::int64_t last_row = std::min(q_len_ - 1, last_key - lowest_offset_);
  if (last_row < first_row) return {};
  return {floor_div(first_row, tile_q_), floor_div(last_row, tile_q_) + 1};
}

bool LiveTiles::live(std::int64_t query_tile, std::int64_t key_tile) const {
  if (!is_band()) return blocks_touch(query_tile, key_tile);
  const TileRange range = keys_of(query_tile);
  return key_tile >= range.first && key_tile < range.end;
}

TileRange LiveTiles::key_span(std::int64_t query_tile) const {
  if (is_band()) return keys_of(query_tile);
  TileRange span;
  for (std::int64_t j = 0; j < key_tiles_; ++j)
    if (blocks_touch(query_tile, j)) span = {span.empty() ? j : span.first, j + 1};
  return span;
}

TileRange LiveTiles::query_span(std::int64_t key_tile) const {
  if (is_band()) return queries_of(key_tile);
  TileRange span;
  for (std::int64_t i = 0; i < query_tiles_; ++i)
    if (blocks_touch(i, key_tile)) span = {span.empty() ? i : span.first, i + 1};
  return span;
}

std::int64_t LiveTiles::rows(std::int64_t query_tile) const { return std::min(tile_q_, q_len_ - query_tile * tile_q_); }

std::int64_t LiveTiles::keys(TileRange key_tiles) const {
  return key_tiles.empty() ? 0 : std::min(key_tiles.end * tile_kv_, kv_len_) - key_tiles.first * tile_kv_;
}

LiveSums LiveTiles::sums(bool whole_tiles) const {
  switch (mask_->kind) {
    case MaskKind::none:
      return unmasked_sums(whole_tiles);
    case MaskKind::causal:
    case MaskKind::window:
      return chunk_ ? chunk_sums(whole_tiles) : band_sums(whole_tiles);
    case MaskKind::blocks:
      return block_sums(whole_tiles);
  }
  return {};
}

LiveSums LiveTiles::unmasked_sums(bool whole_tiles) const {
  const std::int64_t rows = whole_tiles ? checked_mul(query_tiles_, tile_q_) : q_len_;
  const std::int64_t keys = whole_tiles ? checked_mul(key_tiles_, tile_kv_) : kv_len_;
  return {.pairs = checked_mul(query_tiles_, key_tiles_),
          .rows_pairs = checked_mul(rows, key_tiles_),
          .keys_pairs = checked_mul(query_tiles_, keys),
          .area = checked_mul(rows, keys),
          .query_tiles = query_tiles_,
          .rows = rows,
          .key_tiles = key_tiles_,
          .keys = keys};
}

// Bands move right: from the first query tile that sees a key on, every tile sees some, and both ends of the seen range
// are floors of arithmetic progressions, cut off at the first key. Only the last query tile may be partial.
LiveSums LiveTiles::band_sums(bool whole_tiles) const {
  const std::int64_t last = query_tiles_ - 1, first = first_live_query();
  const std::int64_t full = last - first;  // query tiles before the last one
  const std::int64_t ends =
      full + floor_sum(full, tile_kv_, tile_q_, std::max<std::int64_t>(0, (first + 1) * tile_q_ - 1 + highest_offset_));
  const std::int64_t moved =
      lowest_offset_ > 0 ? first : std::clamp(-lowest_offset_ / tile_q_ + 1, first, last);  // starts past the first key
  const std::int64_t starts =
      floor_sum(last - moved, tile_kv_, tile_q_, std::max<std::int64_t>(0, moved * tile_q_ + lowest_offset_));
  const std::int64_t pairs = ends - starts;
  // Query tiles whose range ends in the last key tile, which may be partial.
  const std::int64_t reach = (key_tiles_ - 1) * tile_kv_ - highest_offset_ - tile_q_ + 1;
  const std::int64_t at_end = last - std::clamp(reach <= 0 ? 0 : ceil_div(reach, tile_q_), first, last);
  const std::int64_t excess = whole_tiles ? 0 : key_tiles_ * tile_kv_ - kv_len_;
  const std::int64_t key_count = checked_mul(pairs, tile_kv_) - checked_mul(at_end, excess);

  const TileRange range = keys_of(last), seen{keys_of(first).first, range.end};
  const std::int64_t last_rows = whole_tiles ? tile_q_ : rows(last);
  const std::int64_t last_keys = whole_tiles ? range.count() * tile_kv_ : keys(range);
  return {.pairs = checked_add(pairs, range.count()),
          .rows_pairs = checked_add(checked_mul(pairs, tile_q_), checked_mul(range.count(), last_rows)),
          .keys_pairs = checked_add(key_count, last_keys),
          .area = checked_add(checked_mul(key_count, tile_q_), checked_mul(last_keys, last_rows)),
          .query_tiles = full + 1,
          .rows = checked_add(checked_mul(full, tile_q_), last_rows),
          .key_tiles = seen.count(),
          .keys = whole_tiles ? seen.count() * tile_kv_ : keys(seen)};
}

// Of a chunk, later queries of a window see nothing again, so the tiles are gone through one by one.
LiveSums LiveTiles::chunk_sums(bool whole_tiles) const {
  LiveSums total;
  TileRange seen;
  for (std::int64_t i = 0; i < query_tiles_; ++i) {
    const TileRange range = keys_of(i);
    if (range.empty()) continue;
    const std::int64_t row_count = whole_tiles ? tile_q_ : rows(i),
                       key_count = whole_tiles ? range.count() * tile_kv_ : keys(range);
    total.pairs = checked_add(total.pairs, range.count());
    total.rows_pairs = checked_add(total.rows_pairs, checked_mul(range.count(), row_count));
    total.keys_pairs = checked_add(total.keys_pairs, key_count);
    total.area = checked_add(total.area, checked_mul(row_count, key_count));
    total.query_tiles += 1;
    total.rows += row_count;
    seen = seen.empty() ? range : TileRange{std::min(seen.first, range.first), std::max(seen.end, range.end)};
  }
  total.key_tiles = seen.count();
  total.keys = whole_tiles ? seen.count() * tile_kv_ : keys(seen);
  return total;
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

bool sees(const Mask& mask, std::int64_t q_len, std::int64_t kv_len, std::int64_t query, std::int64_t key) {
  const std::int64_t diagonal = query + kv_len - q_len;
  switch (mask.kind) {
    case MaskKind::none:
      return true;
    case MaskKind::causal:
      return key <= diagonal;
    case MaskKind::window:
      return key <= diagonal && key > diagonal - mask.window;
    case MaskKind::blocks:
      return mask.blocks->live[static_cast<std::size_t>(query / mask.blocks->block_q)]
                              [static_cast<std::size_t>(key / mask.blocks->block_kv)];
  }
  return false;
}

}  // namespace tilescope
