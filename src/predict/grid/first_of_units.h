// The unit whose next event comes first, of units that have at most one: a tournament of pairs. A binary heap of events
// would keep those that are outdated, and its comparisons are ones that a processor cannot foresee.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace tilescope {

class FirstOfUnits {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  explicit FirstOfUnits(std::size_t units)
      : leaves_(std::bit_ceil(units)), time_(leaves_, never), winner_(2 * leaves_, 0) {
    for (std::size_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = static_cast<std::uint32_t>(i);
    for (std::size_t node = leaves_ - 1; node > 0; --node) winner_[node] = winner_[2 * node];
  }

  void set(std::size_t unit, double time) {
    time_[unit] = time;
    auto best = static_cast<std::uint32_t>(unit);
    for (std::size_t node = leaves_ + unit; node > 1; node /= 2) {
      const std::uint32_t other = winner_[node ^ 1];
      const double its = time_[other];
      const bool left = node % 2 == 1;  // it has the lower numbers
      const bool wins = left ? its <= time : its < time;
      best = wins ? other : best, time = wins ? its : time;
      winner_[node / 2] = best;
    }
  }
  // Of units with equal times the one with the lowest number.
  std::size_t unit() const { return winner_[1]; }
  double time() const { return time_[winner_[1]]; }  // never: no unit has an event

 private:
  std::size_t leaves_;
  std::vector<double> time_;
  std::vector<std::uint32_t> winner_;  // by node of a full binary tree, the root at 1
};

}  // namespace tilescope
