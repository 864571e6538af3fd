// The clock that the power limit leaves.
#pragma once

#include <span>

#include "predict/time/launch_time.h"

namespace tilescope {

// The highest clock at which launches that run one after the other, again and again, stay within the board's power, and
// the power there. The energy of an operation falls with the clock because the voltage falls (power.clock_exponent).
// `gaps`: s without work in each round. `more_power` scales the limit.
struct ClockAndPower {
  double hz = 0, watts = 0;  // watts 0: not known
};
ClockAndPower sustained_clock(const HardwareProfile& hardware, std::span<const LaunchTime> launches,
                              const EnergyByItem& energy, double gaps, double more_power = 1);

// The clock of launches after a pause. From the first microseconds on, power is at most that of products on all SMs at
// `clock.tensor_first`, or the board's where that is higher; the board's limit takes effect later. The highest clock
// where the profile lacks `clock.tensor_first`.
double first_clock(const HardwareProfile& hardware, std::span<const LaunchTime> launches, const EnergyByItem& energy);

}  // namespace tilescope
