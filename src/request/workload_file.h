// Named workloads from files.
#pragma once

#include <filesystem>
#include <string>

#include "diagram/workload.h"

namespace tilescope {

// Reads a name in models/workloads or a file (schema tilescope/workload/1). The InputError for an unknown name says the
// nearest one.
Workload find_workload(const std::string& name_or_file, const std::filesystem::path& models_directory);

}  // namespace tilescope
