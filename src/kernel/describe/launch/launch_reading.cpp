#include "kernel/describe/launch/launch_reading.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

namespace tilescope {
namespace {

using Indices = std::array<std::int64_t, grid_axes>;

// The keys are the array over which a thread walks farthest.
std::optional<std::int64_t> key_array(const LaunchEvidence& evidence) {
  std::map<std::int64_t, std::int64_t> span;
  for (const BlockVisit& visit : evidence.blocks)
    for (const ArrayVisit& array : visit.arrays)
      if (!array.stored && array.step != 0) span[array.array] = std::max(span[array.array], array.last - array.first);
  std::optional<std::int64_t> best;
  for (const auto& [array, bytes] : span)
    if (!best || bytes > span[*best]) best = array;
  return best;
}

// The queries are, of the loaded arrays over which no thread walks as far as over the keys, the one of which blocks
// read the most different parts.
std::optional<std::int64_t> query_array(const LaunchEvidence& evidence, std::int64_t keys) {
  std::map<std::int64_t, std::set<std::int64_t>> parts;
  std::map<std::int64_t, std::int64_t> span;
  for (const BlockVisit& visit : evidence.blocks)
    for (const ArrayVisit& array : visit.arrays)
      if (!array.stored) {
        parts[array.array].insert(array.first);
        span[array.array] = std::max(span[array.array], array.last - array.first);
      }
  std::optional<std::int64_t> best;
  for (const auto& [array, firsts] : parts)
    if (span[array] < span[keys] / 2 && (!best || firsts.size() > parts[*best].size())) best = array;
  return best;
}

// c + sum of index * stride, as far as the values determine the strides.
class Affine {
 public:
  explicit Affine(std::size_t terms) : strides_(terms) {}

  void add(const std::vector<std::int64_t>& indices, std::int64_t value) { seen_.emplace_back(indices, value); }
  // Finds strides from values that differ in one index; false where values contradict them.
  bool solve() {
    for (std::size_t term = 0; term < strides_.size(); ++term)
      for (const auto& [a, first] : seen_)
        for (const auto& [b, second] : seen_) {
          if (strides_[term] || a[term] == b[term] || !alike(a, b, term)) continue;
          if ((second - first) % (b[term] - a[term]) != 0) return false;
          strides_[term] = (second - first) / (b[term] - a[term]);
        }
    for (const auto& [indices, value] : seen_) {
      std::int64_t expected = seen_.front().second;
      bool known = true;
      for (std::size_t term = 0; term < strides_.size(); ++term) {
        const std::int64_t distance = indices[term] - seen_.front().first[term];
        if (distance != 0 && !strides_[term]) known = false;
        else if (distance != 0) expected += distance * *strides_[term];
      }
      if (known && expected != value) return false;
    }
    return true;
  }
  std::optional<std::int64_t> stride(std::size_t term) const { return strides_[term]; }

 private:
  static bool alike(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, std::size_t but) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (i != but && a[i] != b[i]) return false;
    return true;
  }
  std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> seen_;
  std::vector<std::optional<std::int64_t>> strides_;
};

}  // namespace

Indices GridReading::indices_of(std::int64_t linear) const {
  Indices indices{};
  for (const GridAxis axis : order) {
    indices[static_cast<std::size_t>(axis)] = linear % size(axis);
    linear /= size(axis);
  }
  if (q_falls) indices[0] = sizes[0] - 1 - indices[0];
  return indices;
}

bool fits_grid(const GridReading& reading, const std::array<std::int64_t, 3>& grid) {
  for (std::size_t first = 0; first <= grid_axes; ++first)
    for (std::size_t second = first; second <= grid_axes; ++second) {
      std::array<std::int64_t, 3> sizes{1, 1, 1};
      for (std::size_t i = 0; i < grid_axes; ++i)
        sizes[i < first ? 0 : i < second ? 1 : 2] *= reading.size(reading.order[i]);
      if (sizes == grid) return true;
    }
  return false;
}

std::optional<ReadLaunch> read_launch(const LaunchEvidence& evidence) {
  const auto keys = key_array(evidence);
  if (!keys) return std::nullopt;
  const auto queries = query_array(evidence, *keys);
  ReadLaunch launch{.tiles = {}, .grid = evidence.grid, .tiles_of_block = {}};
  for (const BlockVisit& visit : evidence.blocks)
    for (const ArrayVisit& array : visit.arrays)
      if (array.array == *keys && array.step != 0)
        launch.key_step = std::abs(array.step), launch.falling = array.step < 0;
  launch.claims = launch.persistent = evidence.claims;
  for (const BlockVisit& visit : evidence.blocks) {
    if (launch.claims && visit.tile > 0) continue;
    const std::int64_t block = visit.block[0] + launch.grid[0] * (visit.block[1] + launch.grid[1] * visit.block[2]);
    std::int64_t& tiles = launch.tiles_of_block[block];
    tiles = std::max(tiles, visit.tile + 1), launch.persistent |= visit.tile > 0;
    ReadTile tile{.linear = block + visit.tile * launch.grid[0] * launch.grid[1] * launch.grid[2], .query = {}};
    for (const ArrayVisit& array : visit.arrays) {
      if (array.array == *keys)
        tile.first_key = array.first, tile.key_steps = (array.last - array.first) / launch.key_step + 1;
      else if (queries && array.array == *queries) tile.query = array.first;
    }
    launch.most_steps = std::max(launch.most_steps, tile.key_steps);
    if (tile.key_steps > 0) launch.tiles.push_back(tile);
    else launch.idle = true;
  }
  return launch;
}

std::optional<ReadStrides> strides_of(const ReadLaunch& launch, const GridReading& reading,
                                      const std::vector<std::int64_t>& starts, std::int64_t part_steps) {
  Affine keys(2), queries(3);
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> bases;  // (head of keys, entry) -> first byte
  std::map<std::array<std::int64_t, 3>, std::int64_t> parts;            // (tile, head, entry) -> first byte
  for (const ReadTile& tile : launch.tiles) {
    const auto [q, head, batch, part] = reading.indices_of(tile.linear);
    const std::int64_t skipped = (starts.empty() ? 0 : starts[static_cast<std::size_t>(q)]) + part * part_steps;
    const std::int64_t base = tile.first_key - skipped * launch.key_step, kv_head = head / reading.group;
    if (const auto [at, fresh] = bases.try_emplace({kv_head, batch}, base); !fresh && at->second != base)
      return std::nullopt;
    keys.add({kv_head, batch}, base);
    if (!tile.query) continue;
    if (const auto [at, fresh] = parts.try_emplace({q, head, batch}, *tile.query); !fresh && at->second != *tile.query)
      return std::nullopt;
    queries.add({q, head, batch}, *tile.query);
  }
  std::set<std::int64_t> different_bases, different_parts;
  for (const auto& [key, base] : bases) different_bases.insert(base);
  for (const auto& [key, part] : parts) different_parts.insert(part);
  if (different_bases.size() != bases.size() || different_parts.size() != parts.size()) return std::nullopt;
  if (!keys.solve() || !queries.solve()) return std::nullopt;
  return ReadStrides{keys.stride(0), keys.stride(1), queries.stride(0), queries.stride(1), queries.stride(2)};
}

}  // namespace tilescope
