// The command `hardware measure`.
#pragma once

#include <vector>

#include "base/error.h"
#include "cli/input/options.h"

namespace tilescope::cli {

std::vector<OptionSpec> hardware_measure_options();
ExitStatus hardware_measure(const Arguments& arguments);

}  // namespace tilescope::cli
