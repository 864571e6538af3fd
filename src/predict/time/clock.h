// Power, and the clock that the power limit leaves.
#pragma once

#include <span>

#include "predict/time/launch_time.h"

namespace tilescope {

// J of a launch beyond what the board takes while it is merely busy, as measured: of memory, which has a clock of its
// own; of tensor cores and of everything else on the chip, at their highest clocks. All 0: the profile lacks energies.
struct Energy {
  double memory = 0, tensor = 0, others = 0;
  EnergyByItem items{};
  double joules() const { return memory + tensor + others; }
};
void add_energy(const Energy& own, Energy& sum);
Energy launch_energy(const HardwareProfile& hardware, const IslandImplementation& how, const LaunchCounts& counts,
                     double added_bytes = 0);

// The highest clock at which launches that run one after the other, again and again, stay within the board's power, and
// the power there. What an operation takes falls with the clock, for the voltage does (power.clock_exponent). `gaps`:
// s without work in each round. `more_power` scales the limit.
struct ClockAndPower {
  double hz = 0, watts = 0;  // watts 0: not known
};
ClockAndPower sustained_clock(const HardwareProfile& hardware, std::span<const LaunchTime> launches,
                              const Energy& energy, double gaps, double more_power = 1);

}  // namespace tilescope
