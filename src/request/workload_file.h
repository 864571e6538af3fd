// Named workloads from files.
#pragma once

#include <filesystem>
#include <string>

#include "diagram/workload.h"

namespace tilescope {

// A name in models/workloads or a file (schema tilescope/workload/1). InputError with did-you-mean.
Workload find_workload(const std::string& name_or_file, const std::filesystem::path& models_directory);

}  // namespace tilescope
