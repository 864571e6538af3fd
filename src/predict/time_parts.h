// Internal to the time model: what an island takes at each resource, and the clock that the power limit leaves.
#pragma once

#include <algorithm>
#include <span>

#include "predict/sm_time.h"

namespace tilescope {

// By Resource, at the datasheet's clocks; < 0: the profile lacks the rate.
std::array<double, resource_count> resource_seconds(const BoundIsland& bound, const IslandPrediction& island);

// FLOP a clock of one unit on the island's instruction path; < 0: the profile does not say.
double tensor_flop_per_clock(const BoundIsland& bound, Format format);

// An island's time at any clock: what its blocks take on the units, but no less than its bytes at memory and L2.
struct IslandTime {
  double clocks = 0, busy = 0;  // from the first block's start to the last one's end; that a unit holds a block, mean
  double floor = 0;             // s
  double most_hz = 0;           // the clock falls to this where tensor cores work, whatever the power
  double seconds(double hz) const { return std::max(floor, clocks / std::min(hz, most_hz)); }
};

// The highest clock of an island: the tensor clock of the datasheet where it uses tensor cores. 0: not known.
double highest_clock(const HardwareProfile& hardware, const IslandImplementation& how);

// J of an island beyond what the board takes while it is merely busy. 0: the profile lacks energies.
double island_joules(const HardwareProfile& hardware, const IslandPrediction& island);

// The highest clock at which islands that run one after the other, again and again, stay within the board's power; and
// the power there. `launch`: s without work in each round. `more_power` scales the limit.
struct ClockAndPower {
  double hz = 0, watts = 0;  // watts 0: not known
};
ClockAndPower sustained_clock(const HardwareProfile& hardware, std::span<const IslandTime> islands, double joules,
                              double launch, double more_power = 1);

}  // namespace tilescope
