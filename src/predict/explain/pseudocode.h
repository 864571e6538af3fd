// A schedule as pseudocode.
#pragma once

#include <string>

#include "predict/prediction.h"

namespace tilescope {

// What a block allocates, its loops, and for every load, store and operator the levels, the bytes or FLOP of a step and
// the feature of the GPU that does it. An empty profile stands for no GPU: copies then name no feature.
std::string pseudocode(const Plan& plan, const HardwareProfile& hardware, const Point& point);

}  // namespace tilescope
