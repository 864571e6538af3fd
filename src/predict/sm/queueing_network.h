// Mean-value analysis of a closed queueing network: what groups of warps that share a multiprocessor get of its units.
#pragma once

#include <array>
#include <cstdint>

namespace tilescope {

// The closed network of `customers` groups at stations with these demands, and `delay` clocks in none of them: clocks
// of one round of a group. The exact recursion over the number of customers.
struct Network {
  std::array<double, 5> demand{};  // matrix path, special functions, integer pipe, fp32 pipe, the way to the L2
  double delay = 0;
  double issue = 0;  // of all that: clocks in which the scheduler issues for the customer

  double round(std::int64_t customers) const;  // clocks
  // The busiest station's clocks, or the scheduler's: no round of n customers is shorter than n times this, and with
  // many of them, who never wait, it is no longer.
  double busiest() const;
};

}  // namespace tilescope
