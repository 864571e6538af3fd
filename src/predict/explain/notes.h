// Notes beside a prediction: what it leaves out, and which rates its profile lacks.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

// One line on spilled registers: their bytes, or a warning that traffic or time leave them out. Empty: none spill.
std::string spill_text(const Prediction& prediction);

// Rates that the prediction needs and the profile does not state, for example "levels.l2.bandwidth of h200_sxm".
std::vector<std::string> missing_rates(const Plan& plan, const HardwareProfile& hardware, const Prediction& prediction);

}  // namespace tilescope
