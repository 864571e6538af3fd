#include "draw/layout/stack.h"

#include <algorithm>

namespace tilescope::draw {
namespace {

struct Pool {
  std::vector<double> wishes;
  std::size_t items = 1;
  double at = 0;
};

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<double> stacked(const std::vector<Stacked>& items, double gap, double most) {
  std::vector<Pool> pools;
  std::vector<double> offsets;  // of each item if all were placed as close as allowed
  double offset = 0;
  for (const Stacked& item : items) {
    Pool pool{.wishes = item.wishes};
    for (double& wish : pool.wishes) wish -= offset;
    pool.at = pool.wishes.empty() && !pools.empty() ? pools.back().at : median(pool.wishes);
    pools.push_back(std::move(pool));
    while (pools.size() > 1 && pools[pools.size() - 2].at > pools.back().at) {
      Pool& before = pools[pools.size() - 2];
      before.wishes.insert(before.wishes.end(), pools.back().wishes.begin(), pools.back().wishes.end());
      before.items += pools.back().items;
      before.at = median(before.wishes);
      pools.pop_back();
    }
    offsets.push_back(offset);
    offset += item.height + gap;
  }
  std::vector<double> tops;
  for (const Pool& pool : pools)
    for (std::size_t i = 0; i < pool.items; ++i) tops.push_back(pool.at + offsets[tops.size()]);
  double closed = 0;
  for (std::size_t i = 1; i < tops.size(); ++i) {
    tops[i] -= closed;
    const double free = tops[i] - tops[i - 1] - items[i - 1].height;
    if (free > most) closed += free - most, tops[i] -= free - most;
  }
  return tops;
}

}  // namespace tilescope::draw
