// The data of the page about the kernel family (schema tilescope/family/1): a row a kernel, and ladders of speed.
#pragma once

#include "compare/compare.h"
#include "hardware/profile.h"

namespace tilescope::cli {

Json family_data(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                 const std::string& date);

}  // namespace tilescope::cli
