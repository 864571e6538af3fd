// Mean-value analysis of a closed queueing network: what groups of warps that share a multiprocessor get of its units.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tilescope {

// The closed network of customers at two stations with these demands, and `delay` clocks in neither of them.
struct Network {
  std::array<double, 2> demand{};
  double delay = 0;

  // Clocks of one round of each of so many customers: the exact recursion over their number.
  double round(std::int64_t customers) const {
    std::array<double, 2> queue{};
    double total = 0;
    for (std::int64_t n = 1; n <= customers; ++n) {
      const std::array response{demand[0] * (1 + queue[0]), demand[1] * (1 + queue[1])};
      total = std::max(delay + response[0] + response[1], static_cast<double>(n) * std::max(demand[0], demand[1]));
      for (std::size_t i = 0; i < queue.size() && total > 0; ++i)
        queue[i] = static_cast<double>(n) * response[i] / total;
    }
    return total;
  }
};

}  // namespace tilescope
