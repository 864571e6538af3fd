#include "predict/sm/queueing_network.h"

#include <algorithm>

namespace tilescope {

double Network::busiest() const { return std::max(issue, *std::max_element(demand.begin(), demand.end())); }

double Network::round(std::int64_t customers) const {
  std::array<double, 5> queue{};
  double total = 0, issuing = 0;
  for (std::int64_t n = 1; n <= customers; ++n) {
    std::array<double, 5> response{};
    total = delay + issue * issuing;  // an instruction waits while another customer's is issued
    for (std::size_t i = 0; i < demand.size(); ++i) response[i] = demand[i] * (1 + queue[i]);
    for (const double each : response) total += each;
    total = std::max(total, static_cast<double>(n) * busiest());
    issuing = total > 0 ? static_cast<double>(n) * issue / total : 0;
    for (std::size_t i = 0; i < demand.size() && total > 0; ++i)
      queue[i] = static_cast<double>(n) * response[i] / total;
  }
  return total;
}

}  // namespace tilescope
