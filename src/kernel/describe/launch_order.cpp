#include "kernel/describe/launch_order.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace tilescope {
namespace {

using Dimension = std::pair<const char*, std::int64_t>;

// Whether the dimensions in this order, cut into three runs (some may be empty), have the sizes of the grid.
bool fits(const std::array<Dimension, 3>& order, const std::array<std::int64_t, 3>& grid) {
  for (std::size_t first = 0; first <= order.size(); ++first)
    for (std::size_t second = first; second <= order.size(); ++second) {
      std::array<std::int64_t, 3> sizes{1, 1, 1};
      for (std::size_t i = 0; i < order.size(); ++i) {
        std::int64_t& size = sizes[i < first ? 0 : i < second ? 1 : 2];
        size = checked_mul(size, order[i].second);
      }
      if (sizes == grid) return true;
    }
  return false;
}

}  // namespace

std::vector<std::string> orders_that_fit(const std::array<std::int64_t, 3>& grid, const GridSizes& sizes) {
  const std::array<Dimension, 3> dimensions{{{"q", sizes.q_tiles}, {"heads", sizes.heads}, {"batch", sizes.batch}}};
  std::array<std::size_t, 3> order{0, 1, 2};
  std::vector<std::string> found;
  do {
    const std::array<Dimension, 3> ordered{dimensions[order[0]], dimensions[order[1]], dimensions[order[2]]};
    if (fits(ordered, grid))
      found.push_back(std::string(ordered[0].first) + ", " + ordered[1].first + ", " + ordered[2].first);
  } while (std::next_permutation(order.begin(), order.end()));
  return found;
}

}  // namespace tilescope
