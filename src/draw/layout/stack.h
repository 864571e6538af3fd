// Things above each other, each as near as may be to where it would like to be.
#pragma once

#include <vector>

namespace tilescope::draw {

struct Stacked {
  double height = 0;
  std::vector<double> wishes{};  // tops that would suit it, one a vote
};

// Tops that keep the order and at least `gap` between neighbours and minimise the sum of distances to all wishes
// (isotonic median regression by pooling adjacent violators); then gaps wider than `most` are closed to it.
std::vector<double> stacked(const std::vector<Stacked>& items, double gap, double most);

}  // namespace tilescope::draw
