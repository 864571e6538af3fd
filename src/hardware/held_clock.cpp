#include "hardware/held_clock.h"

#include <algorithm>

namespace tilescope {

HardwareProfile with_clock_held(HardwareProfile profile, double hz) {
  const auto hold = [hz](std::optional<Sourced<double>>& clock) {
    if (clock) clock->value = std::min(clock->value, hz);
  };
  hold(profile.boost_hz), hold(profile.tensor_hz);
  if (!profile.measured) return profile;
  auto& clock = profile.measured->clock;
  hold(clock.most), hold(clock.tensor_most), hold(clock.mma_most), hold(clock.tensor_load), hold(clock.tensor_first);
  return profile;
}

}  // namespace tilescope
