// Which of the units of a device comes next.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "predict/same_bits.h"

namespace tilescope {

// The earliest of the times that units have, one each, none at first; of equal times that of the first unit. Times are
// not negative. Each pair of units, of pairs and so on knows its earlier one.
class NextUnit {
 public:
  static constexpr double none = std::numeric_limits<double>::infinity();

  explicit NextUnit(std::size_t units)
      : leaves_(std::bit_ceil(std::max<std::size_t>(1, units))), earliest_(2 * leaves_) {
    for (std::size_t i = 0; i < leaves_; ++i)
      earliest_[leaves_ + i] = {same_bits<std::uint64_t>(none), static_cast<std::uint32_t>(i)};
    for (std::size_t node = leaves_; --node > 0;) earliest_[node] = earliest_[2 * node];
  }
  void set(std::int64_t unit, double time) {
    auto first = same_bits<std::uint64_t>(time);
    auto own = static_cast<std::uint32_t>(unit);
    std::size_t node = leaves_ + own;
    for (earliest_[node] = {first, own}; node > 1; node /= 2, earliest_[node] = {first, own}) {
      const auto [other_time, other] = earliest_[node ^ 1];
      // Nobody can foresee which is earlier: a choice without a branch. An odd node comes after the other.
      const std::uint64_t others = -static_cast<std::uint64_t>(other_time < first + (node & 1));
      first ^= (first ^ other_time) & others, own ^= (own ^ other) & static_cast<std::uint32_t>(others);
    }
  }
  std::int32_t unit() const { return static_cast<std::int32_t>(earliest_[1].unit); }
  double time() const { return same_bits<double>(earliest_[1].time); }
  bool empty() const { return time() == none; }

 private:
  struct UnitTime {
    std::uint64_t time;  // bits of a number that is not negative, which are in its order
    std::uint32_t unit;
  };
  std::size_t leaves_;
  std::vector<UnitTime> earliest_;  // by node: the root is 1, children of n are 2 n and 2 n + 1
};

}  // namespace tilescope
