// A GPU whose clock somebody held below its highest.
#pragma once

#include "hardware/profile.h"

namespace tilescope {

// The profile with no clock of the multiprocessors above `hz`. Rates a second of memory and L2 stay.
HardwareProfile with_clock_held(HardwareProfile profile, double hz);

}  // namespace tilescope
