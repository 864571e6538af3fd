// What a faster resource would save.
#pragma once

#include <array>

#include "predict/time/clock.h"

namespace tilescope {

// By Lever: the part of the total time that is saved were this 10 % faster. `times`: of the launches as they are, in
// sequence; `gone`: of what they move, see time_in_sequence; `gaps`: s between them; `total`: s of all.
std::array<double, lever_count> gains_of(std::span<const LaunchAtSm> launches, std::span<const LaunchTime> times,
                                         const EnergyByItem& energy, double gone, double gaps, double total);

}  // namespace tilescope
