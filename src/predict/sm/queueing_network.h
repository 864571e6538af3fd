// Mean-value analysis of a closed queueing network: what groups of warps that share a multiprocessor get of its units.
#pragma once

#include <array>
#include <cstdint>

namespace tilescope {

// The closed network of `customers` groups at stations with these demands, and `delay` clocks in none of them: clocks
// of one round of a group. The exact recursion over the number of customers.
struct Network {
  std::array<double, 5> demand{};  // matrix path, special functions, integer pipe, fp32 pipe, the way to the L2
  double delay = 0;                // less what of the vector work runs under the customer's own products
  double issue = 0;                // of all that: clocks in which the scheduler issues for the customer
  bool in_turn = false;            // always the same order, for the same time: who is being served is half done
  bool products_in_turn = false;   // so at the matrix path alone, which serves one group's product after another's

  double round(std::int64_t customers) const;  // clocks
  // The busiest station's clocks, or the scheduler's: no round of n customers is shorter than n times this, and with
  // many of them, who never wait, it is no longer.
  double busiest() const;
};

}  // namespace tilescope
