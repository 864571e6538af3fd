#include "request/sweep/order.h"

#include <algorithm>
#include <bit>

namespace tilescope {
namespace {

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9E3779B97F4A7C15u;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
  return number ^ (number >> 31);
}

}  // namespace

PointOrder::PointOrder(std::size_t points, const std::optional<Draw>& draw)
    : points_(points), size_(draw ? std::min(draw->draws, points) : points), draw_(draw) {
  half_bits_ = std::max(1, (static_cast<int>(std::bit_width(points - (points > 0))) + 1) / 2);
}

// A Feistel network permutes the numbers below a power of four; numbers past the grid are sent through it again. So no
// list of the numbers drawn is kept, and any machine finds those of its part.
std::size_t PointOrder::drawn(std::size_t i) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = i >> half_bits_, right = i & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t next = left ^ (mixed(mixed(draw_->seed + round) ^ right) & mask);
      left = right, right = next;
    }
    i = left << half_bits_ | right;
  } while (i >= points_);
  return i;
}

Places places_of(const Shard& shard, std::size_t size) {
  // The first size % of shards have one place more.
  const auto first_of = [&](std::size_t number) {
    return size / shard.of * number + std::min(number, size % shard.of);
  };
  return {first_of(shard.number - 1), first_of(shard.number)};
}

}  // namespace tilescope
