// Mean-value analysis of a closed queueing network: what groups of warps that share a multiprocessor get of its units.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tilescope {

// The closed network of `customers` groups at stations with these demands, and `delay` clocks in none of them: clocks
// of one round of a group. The exact recursion over the number of customers.
struct Network {
  std::array<double, 6> demand{};  // matrix path, special functions, integer pipe, fp32 pipe, local memory, additions
  double delay = 0;                // less what of the vector work runs under the customer's own products
  double issue = 0;                // of all that: clocks in which the scheduler issues for the customer
  bool in_turn = false;            // always the same order, for the same time: who is being served is half done
  bool products_in_turn = false;   // so at the matrix path alone, which serves one group's product after another's
  double round(std::int64_t customers) const {
    std::array<double, 6> queue{}, busy{};
    double total = 0, issuing = 0;
    for (std::int64_t n = 1; n <= customers; ++n) {
      std::array<double, 6> response{};
      total = delay + issue * issuing;  // an instruction waits while another customer's is issued
      for (std::size_t i = 0; i < demand.size(); ++i)
        response[i] = demand[i] * (1 + queue[i] - (in_turn || (products_in_turn && i == 0) ? busy[i] / 2 : 0));
      for (const double each : response) total += each;
      total =
          std::max(total, static_cast<double>(n) * std::max(issue, *std::max_element(demand.begin(), demand.end())));
      issuing = total > 0 ? static_cast<double>(n) * issue / total : 0;
      for (std::size_t i = 0; i < demand.size() && total > 0; ++i)
        queue[i] = static_cast<double>(n) * response[i] / total, busy[i] = static_cast<double>(n) * demand[i] / total;
    }
    return total;
  }
};

}  // namespace tilescope
