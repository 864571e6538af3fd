// Records of a directory set against predictions.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "compare/compare.h"

namespace tilescope {

// Compares all records below `records`. Tolerances come from the experiment file `experiment`, else from
// validate/experiments/NAME.yaml of the data directory, NAME being each record's experiment. `progress` is called after
// each record. Throws InputError when a file cannot be read or names an unknown kernel or GPU.
Comparison compare_recorded(const std::filesystem::path& records, const std::filesystem::path& data_directory,
                            const std::optional<std::filesystem::path>& experiment = {},
                            const std::function<void(std::size_t done, std::size_t all)>& progress = {});

}  // namespace tilescope
