// Which points a kernel is built for, and which GPUs its machine code runs on.
#pragma once

#include <string>
#include <vector>

#include "hardware/profile.h"
#include "predict/point/point.h"

namespace tilescope {

// Why the plan cannot run the point (unsupported dtype, head_dim, mask, tile combination, more threads in a block than
// the GPU launches ...); empty: it can.
std::vector<std::string> unsupported(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// Why the kernel's machine code does not run on this GPU; empty: it does, or there is no kernel.
std::string unsupported_on(const Plan& plan, const HardwareProfile& hardware);

}  // namespace tilescope
