// What there is to name in an option.
#pragma once

#include "tilescope/types.h"

namespace tilescope::api {

std::vector<std::string> gpus();       // profiles, of the option "hardware"
std::vector<std::string> kernels();    // descriptors, of "kernel"
std::vector<std::string> schedules();  // of "schedule"
std::vector<std::string> diagrams();   // of "diagram"
std::vector<std::string> workloads();  // of "workload"

}  // namespace tilescope::api
