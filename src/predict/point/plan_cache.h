// Plans of shipped kernels and schedules: read once a process, as commands that compare many points ask for them.
#pragma once

#include <memory>

#include "predict/point/plan.h"

namespace tilescope {

// The plan of a shipped kernel; InputError as load_plan_for_kernel.
std::shared_ptr<const Plan> shipped_plan(const std::string& kernel, const std::filesystem::path& descriptor,
                                         const std::filesystem::path& data_directory);

}  // namespace tilescope
