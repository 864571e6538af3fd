// `hardware check` for the block `measured`: no measurement may beat what the machine can do.
#pragma once

#include <vector>

#include "hardware/profile.h"

namespace tilescope {

// One finding a group of rules that has something to compare; none without the block.
std::vector<CheckFinding> check_measured(const HardwareProfile& profile);

}  // namespace tilescope
