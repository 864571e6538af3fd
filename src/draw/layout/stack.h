// Stacks items vertically, each as close as possible to its preferred positions.
#pragma once

#include <vector>

namespace tilescope::draw {

struct Stacked {
  double height = 0;
  std::vector<double> wishes{};  // preferred tops, one per vote
};

// Tops that keep the order and at least `gap` between neighbours and minimise the sum of distances to all wishes
// (isotonic median regression by pooling adjacent violators); then gaps wider than `most` are closed to it.
std::vector<double> stacked(const std::vector<Stacked>& items, double gap, double most);

}  // namespace tilescope::draw
