#include "predict/l2_cache.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

void LruStack::reset(std::size_t entries, const Depths& depths) {
  nodes_.assign(entries, Node{});
  depths_ = depths, sizes_ = {}, head_ = -1;
  tails_.fill(-1);
}

void LruStack::unlink(int entry) {
  Node& node = nodes_[static_cast<std::size_t>(entry)];
  const auto zone = static_cast<std::size_t>(node.zone);
  if (node.previous >= 0) nodes_[static_cast<std::size_t>(node.previous)].next = node.next;
  else head_ = node.next;
  if (node.next >= 0) nodes_[static_cast<std::size_t>(node.next)].previous = node.previous;
  sizes_[zone] -= node.bytes;
  if (tails_[zone] != entry) return;
  const bool same = node.previous >= 0 && nodes_[static_cast<std::size_t>(node.previous)].zone == node.zone;
  tails_[zone] = same ? node.previous : -1;
}

// Zones from the most recent one on hand down what lies too deep. Below `last` nothing has changed unless sizes have.
void LruStack::sink(int last, bool grown) {
  std::int64_t depth = 0;
  for (int z = 0; z < cache_parts && (grown || z < last); ++z) {
    const auto zone = static_cast<std::size_t>(z);
    depth += sizes_[zone];
    while (depth > depths_[zone]) {
      const int entry = tails_[zone];
      Node& node = nodes_[static_cast<std::size_t>(entry)];
      if (z + 1 == cache_parts) {
        unlink(entry);
      } else {
        const bool same = node.previous >= 0 && nodes_[static_cast<std::size_t>(node.previous)].zone == z;
        tails_[zone] = same ? node.previous : -1;
        if (tails_[zone + 1] < 0) tails_[zone + 1] = entry;
        sizes_[zone] -= node.bytes, sizes_[zone + 1] += node.bytes;
      }
      ++node.zone;
      depth -= node.bytes;
    }
  }
}

int LruStack::use(int entry, std::int64_t bytes) {
  Node& node = nodes_[static_cast<std::size_t>(entry)];
  const int lost = node.zone;
  const bool grown = bytes > node.bytes;
  if (head_ == entry && !grown) return lost;
  if (lost < cache_parts) unlink(entry);
  node = {bytes, -1, head_, 0};
  if (head_ >= 0) nodes_[static_cast<std::size_t>(head_)].previous = entry;
  head_ = entry;
  if (tails_[0] < 0) tails_[0] = entry;
  sizes_[0] += bytes;
  sink(lost, grown);
  return lost;
}

namespace {

// Part p stands for the lines from p to p + 1 tenths of the curve: where its middle is gone. Between and beyond
// measured percentages in a straight line.
void set_depths(const std::map<std::int64_t, Sourced<double>>& curve, Depths& depths) {
  if (curve.size() < 2) return;
  for (std::size_t p = 0; p < cache_parts; ++p) {
    const double percent = (static_cast<double>(p) + 0.5) * 100 / cache_parts;
    auto above = std::next(curve.begin());
    while (std::next(above) != curve.end() && static_cast<double>(above->first) < percent) ++above;
    const auto below = std::prev(above);
    const double x0 = static_cast<double>(below->first), x1 = static_cast<double>(above->first);
    depths[p] =
        std::llround(below->second.value + (above->second.value - below->second.value) * (percent - x0) / (x1 - x0));
  }
  std::sort(depths.begin(), depths.end());
}

}  // namespace

CacheShape cache_shape(const HardwareProfile& hardware) {
  const MemoryLevel* l2 = hardware.level("l2");
  CacheShape shape;
  shape.partitions =
      hardware.l2_partitions ? static_cast<int>(std::clamp<std::int64_t>(hardware.l2_partitions->value, 1, 4)) : 1;
  const double capacity = l2 && l2->capacity_bytes ? l2->capacity_bytes->value : 0;
  shape.depths.fill(std::llround(capacity / shape.partitions));
  shape.unwritten.fill(std::llround(capacity));
  if (!hardware.measured) return shape;
  set_depths(hardware.measured->l2.gone, shape.depths);
  set_depths(hardware.measured->l2.written, shape.unwritten);
  return shape;
}

void L2Cache::reset(const CacheShape& shape, std::size_t entries) {
  partitions_ = shape.partitions;
  for (int side = 0; side < partitions_; ++side) sides_[static_cast<std::size_t>(side)].reset(entries, shape.depths);
  unwritten_.reset(entries, shape.unwritten);
  parts_gone_.assign(entries, -1);
}

int L2Cache::read(int entry, int side, std::int64_t bytes) {
  LruStack& own = sides_[static_cast<std::size_t>(side)];
  const bool whole =
      own.bytes(entry) >= bytes && own.lost(entry) < cache_parts;  // else it holds its home's part at most
  const int lost = own.use(entry, bytes);
  int missing = lost;
  if (whole && lost == 0) return 0;  // nobody asks the home
  const std::int64_t part = bytes / partitions_;
  for (int home = 0; home < partitions_; ++home) {
    if (home == side) continue;
    LruStack& other = sides_[static_cast<std::size_t>(home)];
    const bool there = other.lost(entry) < cache_parts;
    const int lost_at_home = other.use(entry, there ? std::max(other.bytes(entry), part) : part);
    missing += whole ? std::min(lost, lost_at_home) : lost_at_home;
  }
  int& gone = parts_gone_[static_cast<std::size_t>(entry)];
  if (gone >= 0) gone = std::max(gone, missing);
  return missing;
}

L2Cache::Stored L2Cache::store(int entry, std::int64_t bytes) {
  Stored result;
  const std::int64_t part = bytes / partitions_;
  for (int home = 0; home < partitions_; ++home) {
    LruStack& own = sides_[static_cast<std::size_t>(home)];
    const bool there = own.lost(entry) < cache_parts;
    result.lacked += own.use(entry, there ? std::max(own.bytes(entry), part) : part);
  }
  const int written = unwritten_.use(entry, bytes) * partitions_;
  int& gone = parts_gone_[static_cast<std::size_t>(entry)];
  if (gone >= 0) result.written = std::max({written, result.lacked, gone});  // pushed out means written, too
  gone = 0;
  return result;
}

}  // namespace tilescope
