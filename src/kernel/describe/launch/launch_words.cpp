#include "kernel/describe/launch/launch_words.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace tilescope {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 24;

// Lengths that rows, heads and entries of one array have in memory; 0: not known.
struct RowStrides {
  std::int64_t row = 0, head = 0, batch = 0, rows = 0, heads = 0, entries = 0;
};

RowStrides key_strides(const SizeReading& s, const TileSizes& t, std::int64_t key_step) {
  return {key_step / t.tile_kv,
          s.strides.key_head.value_or(0),
          s.strides.key_batch.value_or(0),
          s.kv_len,
          s.grid.size(GridAxis::heads) / s.grid.group,
          s.grid.size(GridAxis::batch)};
}

RowStrides query_strides(const SizeReading& s, const TileSizes& t) {
  return {std::abs(s.strides.query_tile.value_or(0)) / t.tile_q,
          s.strides.query_head.value_or(0),
          s.strides.query_batch.value_or(0),
          s.q_len * s.packed,
          s.grid.size(GridAxis::heads),
          s.grid.size(GridAxis::batch)};
}

bool no_overlap(const RowStrides& a, std::int64_t row_bytes) {
  if (a.row != 0 && a.row < row_bytes) return false;
  if (a.head != 0 && a.head < row_bytes) return false;
  if (a.batch != 0 && a.batch < a.head) return false;  // entries are farther from each other than heads
  if (a.row != 0 && a.head > a.row && a.head < a.row * (a.rows - 1)) return false;
  if (a.row != 0 && a.batch != 0 && a.batch < a.row * (a.rows - 1)) return false;
  return true;
}

// Strides that are the product of the sizes inside them; those that no two tiles show may be.
int without_gap(const RowStrides& a, std::int64_t row_bytes) {
  int count = 0;
  count += a.row == 0 || a.row == row_bytes || a.row == row_bytes * a.heads;
  count += a.head == 0 || a.head == row_bytes || (a.row != 0 && a.head == a.row * a.rows);
  count += a.batch == 0 || a.batch == row_bytes * a.rows * a.heads;
  return count;
}

// Sizes and strides of one array. A stride that no two tiles show is the product of the sizes inside it.
void add_array(std::set<std::int64_t>& values, const RowStrides& a, std::int64_t dim, std::int64_t element_bytes,
               std::int64_t stride_unit) {
  constexpr std::int64_t rounding[] = {32, 64, 128};
  for (const std::int64_t round : rounding) values.insert((a.rows + round - 1) / round * round);
  for (const std::int64_t size : {a.entries, a.heads, a.rows, dim, a.entries * a.heads}) values.insert(size);
  const std::int64_t row_bytes = dim * element_bytes;
  std::vector<std::int64_t> strides{a.row, a.head, a.batch};
  if (a.row == 0) strides.insert(strides.end(), {row_bytes, a.heads * row_bytes});
  if (a.head == 0) strides.insert(strides.end(), {row_bytes, a.rows * row_bytes});
  if (a.batch == 0) strides.push_back(a.heads * a.rows * row_bytes);
  for (const std::int64_t stride : strides) values.insert(stride / stride_unit);
}

}  // namespace

bool names_lengths(const LaunchEvidence& evidence) { return !evidence.words.empty(); }

std::vector<std::int64_t> candidate_lengths(const LaunchEvidence& evidence) {
  std::set<std::int64_t> values{1};
  for (const std::int64_t word : evidence.words)
    if (word < most) values.insert(word);
  for (const TensorMapShape& map : evidence.maps)
    for (const std::int64_t dim : map.dims)
      if (dim < most) values.insert(dim);
  if (!names_lengths(evidence))
    for (const std::int64_t number : evidence.numbers)
      if (number > 0 && number < most) values.insert(number);
  return {values.begin(), values.end()};
}

bool possible(const SizeReading& size, const TileSizes& t, std::int64_t key_step) {
  if (key_step % t.tile_kv != 0 || size.strides.query_tile.value_or(0) % t.tile_q != 0) return false;
  return no_overlap(key_strides(size, t, key_step), t.head_dim * t.element_bytes) &&
         no_overlap(query_strides(size, t), t.head_dim * t.element_bytes);
}

bool names_entries(const SizeReading& size, const TileSizes& tile, const LaunchEvidence& evidence) {
  for (const auto& stride : {size.strides.key_batch, size.strides.query_batch})
    for (const std::int64_t word : evidence.words)
      if (stride && *stride != 0 && (word == *stride || word == *stride / tile.element_bytes)) return true;
  return false;
}

int explained(const SizeReading& s, const TileSizes& t, std::int64_t key_step, const LaunchEvidence& evidence) {
  const RowStrides keys = key_strides(s, t, key_step), queries = query_strides(s, t);
  int best = 0;
  for (const std::int64_t unit : {t.element_bytes, std::int64_t{1}}) {  // strides count elements or bytes
    std::set<std::int64_t> values{s.grid.group * s.packed, s.grid.size(GridAxis::splits)};
    if (s.packed > 1) values.insert({s.heads_q(), s.q_len, s.q_len * s.packed});
    for (const std::int64_t dim : {t.head_dim, t.v_head_dim})
      add_array(values, keys, dim, t.element_bytes, unit), add_array(values, queries, dim, t.element_bytes, unit);
    if (s.mask.kind == ReadMask::Kind::window)
      for (const std::int64_t near : {-1, 0, 1}) values.insert(s.mask.window + near);
    int count = 0;
    for (const std::int64_t word : evidence.words) count += values.contains(word);
    for (const TensorMapShape& map : evidence.maps)
      for (const std::int64_t dim : map.dims) count += values.contains(dim);
    best = std::max(best, count);
  }
  const std::int64_t row_bytes = t.head_dim * t.element_bytes;
  return best + without_gap(keys, row_bytes) + without_gap(queries, row_bytes);
}

}  // namespace tilescope
