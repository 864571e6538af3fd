// A schedule as pseudocode.
#pragma once

#include <string>

#include "predict/prediction.h"

namespace tilescope {

// The programs of the plan's kernels (program/program.h), each with what a block allocates, and for every load, store
// and operator the levels, the bytes or FLOP of a step and the feature of the GPU that does it. An empty profile stands
// for no GPU: copies then name no feature. The programs are executed at small sizes under the point's mask first;
// throws std::logic_error if one does not yield what the diagram says.
std::string pseudocode(const Plan& plan, const HardwareProfile& hardware, const Point& point);

}  // namespace tilescope
