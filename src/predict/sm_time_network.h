// Mean-value analysis of a closed queueing network: what groups of warps that share a multiprocessor get of its units.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tilescope {

// The closed network of `customers` groups at stations with these demands, and `delay` clocks in none of them: clocks
// of one round of a group. The exact recursion over the number of customers.
struct Network {
  std::array<double, 5> demand{};  // matrix path, special functions, integer pipe, fp32 pipe, local memory
  double delay = 0;                // less what of the vector work runs under the customer's own products
  double issue = 0;                // of all that: clocks in which the scheduler issues for the customer
  bool in_turn = false;            // the matrix path serves one customer after the other, each for the same time
  double round(std::int64_t customers) const {
    std::array<double, 5> queue{};
    double total = 0, busy = 0, issuing = 0;
    for (std::int64_t n = 1; n <= customers; ++n) {
      std::array<double, 5> response{};
      total = delay + issue * issuing;  // an instruction waits while another customer's is issued
      for (std::size_t i = 0; i < demand.size(); ++i) response[i] = demand[i] * (1 + queue[i]);
      response[0] -= in_turn ? demand[0] * busy / 2 : 0;  // who is being served is half done, on average
      for (const double each : response) total += each;
      total = std::max(total, static_cast<double>(n) * std::max(issue, *std::max_element(demand.begin(), demand.end())));
      busy = total > 0 ? static_cast<double>(n) * demand[0] / total : 0;
      issuing = total > 0 ? static_cast<double>(n) * issue / total : 0;
      for (std::size_t i = 0; i < demand.size(); ++i)
        queue[i] = total > 0 ? static_cast<double>(n) * response[i] / total : 0;
    }
    return total;
  }
};

}  // namespace tilescope
