// Tournament tree: the SM with the earliest event, for simulations of a device.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "predict/same_bits.h"

namespace tilescope {

inline constexpr double no_event = std::numeric_limits<double>::infinity();

// The earliest of the SMs' times, one each, not negative; of equal times that of the first SM. Each node stores its
// earlier child.
class NextUnit {
 public:
  explicit NextUnit(std::size_t units) : leaves_(std::bit_ceil(units + (units == 0))), earliest_(2 * leaves_) {
    for (std::size_t i = 0; i < leaves_; ++i)
      earliest_[leaves_ + i] = {same_bits<std::uint64_t>(no_event), static_cast<std::uint32_t>(i)};
    for (std::size_t node = leaves_; --node > 0;) earliest_[node] = earliest_[2 * node];
  }
  void set(std::int64_t unit, double time) {
    auto first = same_bits<std::uint64_t>(time);
    auto own = static_cast<std::uint32_t>(unit);
    std::size_t node = leaves_ + own;
    for (earliest_[node] = {first, own}; node > 1; node /= 2, earliest_[node] = {first, own}) {
      const auto [other_time, other] = earliest_[node ^ 1];
      // The comparison is unpredictable, so it has no branch. An odd node comes after the other.
      const std::uint64_t others = -static_cast<std::uint64_t>(other_time < first + (node & 1));
      first ^= (first ^ other_time) & others, own ^= (own ^ other) & static_cast<std::uint32_t>(others);
    }
  }
  std::int32_t unit() const { return static_cast<std::int32_t>(earliest_[1].unit); }
  double time() const { return same_bits<double>(earliest_[1].time); }

 private:
  struct UnitTime {
    std::uint64_t time;  // bits of a number that is not negative, which are in its order
    std::uint32_t unit;
  };
  std::size_t leaves_;
  std::vector<UnitTime> earliest_;  // by node: the root is 1, children of n are 2 n and 2 n + 1
};

}  // namespace tilescope
