// The table of rules behind derived.h.
#pragma once

#include <vector>

#include "hardware/profile.h"

namespace tilescope {

// A number of a profile that a rate is in proportion to; 0: the profile does not say.
using RateScale = double (*)(const HardwareProfile& profile);

enum class RuleDonors {
  none,       // the scale itself is the value
  same_chip,  // measured GPUs with the same chip
  measured,   // the nearest measured GPUs
  published   // the nearest GPUs about which the scale `given` is published
};

// One rule for several entries of `measured`: mean over donors of (their value / their scale), times this GPU's scale.
struct RateRule {
  const char* formula;
  RateScale scale;
  RuleDonors donors = RuleDonors::measured;
  std::vector<const char*> entries;
  double least_capability = 0, most_capability = 100;
  RateScale given = nullptr;  // of donors that did not measure

  bool serves(const HardwareProfile& profile) const;
};

// In the order in which they apply: the first rule that gives an entry a value counts.
const std::vector<RateRule>& rate_rules();

double capability_of(const HardwareProfile& profile);      // 8.9; 0: not NVIDIA's
double published_l2_rate(const HardwareProfile& profile);  // B/s; 0: nothing is published

}  // namespace tilescope
