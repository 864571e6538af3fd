// Named workloads and block masks from files.
#pragma once

#include <filesystem>
#include <string>

#include "diagram/workload.h"

namespace tilescope::cli {

// A name in models/workloads or a file (schema tilescope/workload/1). InputError with did-you-mean.
Workload find_workload(const std::string& name_or_file, const std::filesystem::path& models_directory);

// A block pattern: YAML with block_q, block_kv and rows of 0/1 strings covering the workload (schema tilescope/mask/1).
Mask load_block_mask(const std::string& file, const Workload& workload);

}  // namespace tilescope::cli
