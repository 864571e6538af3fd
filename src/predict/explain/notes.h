// Notes beside a prediction: what it leaves out, and which rates its profile lacks.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

// Where a host takes longer to launch the kernels than the GPU to run them. Empty: it does not, or nobody knows.
std::string host_text(const Prediction& prediction);

// One line on spilled registers: their bytes, or a warning that traffic or time leave them out. Empty: none spill.
std::string spill_text(const Prediction& prediction);

// Where the measured bandwidth of HBM contradicts the datasheet's: above it, or below half of it. The line says which
// one times use. Empty: they agree, or one is missing.
std::string bandwidth_text(const HardwareProfile& hardware);

// A product of an assumed implementation: the format of its matrix instructions, why it is another one than its
// operands' (empty: it is not), and the operands that threads convert.
struct ComputedProduct {
  std::string kernel, product, format, reason;
  std::vector<std::string> converted;
};
std::vector<ComputedProduct> computed_products(const Plan& plan, const HardwareProfile& hardware, const Point& point);
// One line for each that is computed in another format or converts operands.
std::vector<std::string> computed_lines(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// Rates that the prediction needs and the profile does not state, for example "levels.l2.bandwidth of h200_sxm".
std::vector<std::string> missing_rates(const Plan& plan, const HardwareProfile& hardware, const Prediction& prediction);

}  // namespace tilescope
