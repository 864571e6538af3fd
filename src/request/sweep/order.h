// In which order a sweep takes its points, and which of them a shard has.
#pragma once

#include <cstdint>
#include <optional>

namespace tilescope {

// Part `number` of `of`, from 1.
struct Shard {
  std::size_t number = 1, of = 1;
};

// `draws` points of a grid, each at most once, in an order that the seed alone decides.
struct Draw {
  std::size_t draws = 0;
  std::uint64_t seed = 0;
};

class PointOrder {
 public:
  // `points`: of the grid, at most 2^62.
  PointOrder(std::size_t points, const std::optional<Draw>& draw);
  std::size_t size() const { return size_; }
  // Which point of the grid comes at place `i`.
  std::size_t point(std::size_t i) const { return draw_ ? drawn(i) : i; }

 private:
  std::size_t drawn(std::size_t i) const;

  std::size_t points_, size_;
  std::optional<Draw> draw_;
  int half_bits_ = 0;
};

// The places first <= i < end of a shard: consecutive ones, so that the shards' rows one after the other are those of
// the whole sweep.
struct Places {
  std::size_t first = 0, end = 0;
  std::size_t size() const { return end - first; }
};
Places places_of(const Shard& shard, std::size_t size);

}  // namespace tilescope
