// Block masks from files.
#pragma once

#include <filesystem>

#include "diagram/workload.h"

namespace tilescope {

// A block pattern: YAML with block_q, block_kv and rows of 0/1 strings covering the workload (schema tilescope/mask/1).
// InputError when it is damaged or does not cover the workload.
Mask load_block_mask(const std::filesystem::path& file, const Workload& workload);

// The mask of a spelling; a file is looked for in `directory`. nullopt: not a mask.
std::optional<Mask> load_mask(std::string_view text, const std::filesystem::path& directory, const Workload& workload);

}  // namespace tilescope
