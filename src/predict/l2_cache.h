// An L2 as microbenchmarks show it, with tiles for lines: partitions that each keep the least recently used part out, a
// copy on the side of the reader, and a bound on what stays unwritten. What it does, and the measurements behind it:
//
// - An address has a home partition; tiles are spread evenly. A read looks on the reader's side first. Data of the
// other
//   side's home is then kept on both, so that what all units read takes its size on every side (sweeps by all units
//   stay whole up to half of an H200's L2), what one unit reads takes its size on that side and its home's part on the
//   others (three quarters: 1.5 times as much stays), and what is only added to or stored takes its home's part (all of
//   it stays).
// - Sets fill unevenly: between `keeps_all` and `keeps_none` bytes touched since its last use, ever less of a tile is
// left.
// - Stored data beyond a bound is written to DRAM, the oldest first, and stays as clean data.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/profile.h"

namespace tilescope {

// Parts of a tile that are kept or lost by themselves, each by a depth of its own.
inline constexpr int cache_parts = 10;
using Depths = std::array<std::int64_t, cache_parts>;  // bytes, rising

// Entries by recency of use. The depth of an entry is the bytes used since its last use, its own included; part p of it
// is lost once that exceeds depths[p]. All operations take time in proportion to the parts that entries lose by them.
class LruStack {
 public:
  void reset(std::size_t entries, const Depths& depths);
  int lost(int entry) const { return nodes_[static_cast<std::size_t>(entry)].zone; }  // parts; cache_parts: all
  std::int64_t bytes(int entry) const { return nodes_[static_cast<std::size_t>(entry)].bytes; }  // as last used
  int use(int entry, std::int64_t bytes);  // makes it the most recent, with this size; the parts that had been lost

 private:
  struct Node {
    std::int64_t bytes = 0;
    int previous = -1, next = -1;
    int zone = cache_parts;  // parts lost
  };
  void unlink(int entry);
  void sink(int from_zone, bool grown);

  std::vector<Node> nodes_;
  Depths depths_{}, sizes_{};             // sizes: of each zone
  std::array<int, cache_parts> tails_{};  // least recent entry of each zone, -1: none
  int head_ = -1;
};

struct CacheShape {
  int partitions = 1;
  Depths depths{};     // of a partition
  Depths unwritten{};  // of the whole cache
};
// What the profile states: measured bounds, or the capacity alone (then sharp, and stored data stays until pushed out).
CacheShape cache_shape(const HardwareProfile& hardware);

class L2Cache {
 public:
  static constexpr int parts_of(int partitions) { return partitions * cache_parts; }
  void reset(const CacheShape& shape, std::size_t entries);
  // A unit of `side` reads the tile: parts, of partitions * cache_parts, that DRAM supplies.
  int read(int entry, int side, std::int64_t bytes);
  // The tile is stored or added to: parts it lacked, which an addition fetches; and parts of its earlier contents that
  // had gone to DRAM (0 when it was never stored).
  struct Stored {
    int lacked = 0, written = 0;
  };
  Stored store(int entry, std::int64_t bytes);

 private:
  int partitions_ = 1;
  std::array<LruStack, 4> sides_;
  LruStack unwritten_;
  std::vector<int> parts_gone_;  // of stored tiles: parts that a read since did not find; -1: not stored
};

}  // namespace tilescope
