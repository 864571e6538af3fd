// A GPU as a level of the hierarchy's power law: its cost of a traffic term from the datasheet (Napkin, arXiv
// 2412.03317, section 5.1).
#pragma once

#include "hardware/profile.h"
#include "optimum/levels.h"

namespace tilescope::lower {

// The boundary to device memory. Outputs stay in the units until complete, so it acts as if the cache had the shared
// memory of all units (theorem 2): memory in values of `value_bytes`, cost in seconds a value at the datasheet's
// bandwidth. Throws InputError when the profile lacks a capacity or bandwidth.
Level dram_level(const HardwareProfile& hardware, double value_bytes);

// Peak dense tensor FLOP a value that `bytes_per_second` delivers: units x tensor clock x FLOP/clk / (B/s / width).
// Throws InputError when the profile has no rate for the format or no clock.
double flop_per_value(const HardwareProfile& hardware, Format format, double bytes_per_second, double value_bytes);

}  // namespace tilescope::lower
