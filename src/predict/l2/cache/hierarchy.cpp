#include "predict/l2/cache/hierarchy.h"

#include <algorithm>

namespace tilescope {

// All caches cut the entries into the same fragments, so that one hands a fragment to the other.
void CacheHierarchy::reset(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first) {
  has_last_level_ = shape.last_level_capacity > 0;
  const CacheShape last{
      .capacity = shape.last_level_capacity, .partitions = shape.partitions, .ways = shape.last_level_ways};
  std::int64_t fragment = L2Cache::fragment_bytes(shape, pieces);
  if (has_last_level_) fragment = std::max(fragment, L2Cache::fragment_bytes(last, pieces));
  l2_ = std::vector<L2Cache>(static_cast<std::size_t>(shape.caches));
  stored_by_.clear();
  if (is_alone()) return l2_.front().reset_sample(shape, pieces, first);
  if (has_last_level_) last_level_.reset(last, pieces, first, fragment);
  for (L2Cache& each : l2_) {
    each.reset(shape, pieces, first, fragment);
    if (has_last_level_) each.put_behind(last_level_);
    each.carry_out_at_once();
  }
  if (shape.caches > 1) stored_by_.assign(first.size() - 1, -1);
}

std::int64_t CacheHierarchy::supplied_by_memory(std::int64_t lacked) {
  return has_last_level_ ? last_level_.take_supplied() : lacked;
}

CacheHierarchy::Moved CacheHierarchy::read(int entry, int cache, int side) {
  if (!stored_by_.empty())
    if (const int owner = stored_by_[static_cast<std::size_t>(entry)]; owner >= 0 && owner != cache)
      l2(owner).write_back(entry);
  const std::int64_t lacked = l2(cache).read(entry, side);
  return {.lacked = lacked, .from_memory = supplied_by_memory(lacked)};
}

CacheHierarchy::Moved CacheHierarchy::store(int entry, int cache, bool adds) {
  std::int64_t taken = 0;  // contents that another L2 stored
  if (!stored_by_.empty()) {
    int& owner = stored_by_[static_cast<std::size_t>(entry)];
    if (owner >= 0 && owner != cache) l2(owner).write_back(entry), taken = l2(owner).bytes(entry);
    for (int other = 0; other < static_cast<int>(l2_.size()); ++other)
      if (other != cache) l2(other).drop(entry);
    owner = cache;
  }
  const L2Cache::StoreTraffic stored = l2(cache).store(entry, adds);
  return {.lacked = stored.lacked,
          .written = stored.written + taken,
          .from_memory = adds ? supplied_by_memory(stored.lacked) : 0};
}

}  // namespace tilescope
