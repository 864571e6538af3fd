#include "kernel/describe/grid/launch_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"

namespace tilescope {
namespace {

using Dimension = std::pair<const char*, std::int64_t>;

// Whether the dimensions in this order, cut into three runs (some may be empty), have the sizes of the grid.
bool fits(const std::vector<Dimension>& order, const std::array<std::int64_t, 3>& grid) {
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
  std::vector<Dimension> dimensions{{"q", sizes.q_tiles}};
  if (sizes.splits > 1) dimensions.emplace_back("kv", sizes.splits);
  dimensions.emplace_back("heads", sizes.heads), dimensions.emplace_back("batch", sizes.batch);
  std::vector<std::size_t> order(dimensions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::string> found;
  do {
    std::vector<Dimension> ordered;
    std::string names;
    for (const std::size_t i : order) {
      ordered.push_back(dimensions[i]);
      names += (names.empty() ? "" : ", ") + std::string(dimensions[i].first);
    }
    if (fits(ordered, grid)) found.push_back(names);
  } while (std::next_permutation(order.begin(), order.end()));
  return found;
}

}  // namespace tilescope
