// The steps of a block: where its stream loops stand, from the first live step to the last one.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/point/bound_island.h"
#include "predict/point/order/block_order.h"

namespace tilescope {

struct NestPlace {
  BlockPlace at{};                           // trips of all loops
  std::array<TileRange, max_loops> range{};  // of each stream loop
};

class NestSteps {
 public:
  explicit NestSteps(const BoundIsland& bound);

  // Stream loops, the outermost first.
  std::size_t count() const { return count_; }
  std::size_t loop(std::size_t level) const { return loops_[level]; }
  bool falls(std::size_t level) const { return falls_[level]; }
  // Whether steps inside the ranges may be dead.
  bool has_holes() const { return has_holes_; }

  // Sets the stream loops to the first step of a block whose group loops are set. False: it has none.
  bool first(NestPlace& place) const { return enter(place, 0); }
  // The next step. False: it was the last one.
  bool next(NestPlace& place) const { return next(place, count_); }

  // Steps of the innermost stream loop from here on, with this one; and the place where as many are left.
  std::int64_t left(const NestPlace& place) const;
  void set_left(NestPlace& place, std::int64_t left) const;
  // Whether one of these loops, a bit each, has steps left.
  bool has_left(const NestPlace& place, std::uint32_t loops) const;

 private:
  void list_live();
  std::size_t chunk_of(const NestPlace& place) const;
  TileRange range_of(const NestPlace& place, std::size_t level) const;
  bool enter(NestPlace& place, std::size_t level) const;
  bool next(NestPlace& place, std::size_t level) const;
  bool is_dead(const NestPlace& place) const;

  const Nest& nest_;
  std::array<std::size_t, max_loops> loops_{};
  std::array<bool, max_loops> falls_{};
  std::size_t count_ = 0;
  bool has_holes_ = false;
  std::vector<LiveTiles> live_;  // by chunk of the keys
  std::vector<std::vector<TileRange>> keys_of_, queries_of_;
};

}  // namespace tilescope
