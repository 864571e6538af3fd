// Records of a directory set against predictions.
#pragma once

#include <filesystem>
#include <optional>

#include "compare/compare.h"

namespace tilescope {

enum class Tolerances { wanted, if_any };

// Compares all records below `records`. Tolerances come from the experiment file `experiment`, else from
// validate/experiments/NAME.yaml of the data directory, NAME being each record's experiment; imported records have
// none. A record whose experiment has no such file is refused, or has no tolerances (Tolerances::if_any). `progress` is
// called after each record. All records are read before any is predicted, so that what is wrong with them is said at
// once; where they are many, most of them are read again when their turn comes. Throws InputError when a file cannot be
// read or names an unknown kernel or GPU. `at_once`: so many records are in memory, unless their points are kept.
Comparison compare_recorded(const std::filesystem::path& records, const std::filesystem::path& data_directory,
                            Keep keep, const std::optional<std::filesystem::path>& experiment = {},
                            const CompareProgress& progress = {}, RatesFrom rates = RatesFrom::stated,
                            TimeChoices time = {}, std::size_t threads = 1, std::size_t at_once = 4096,
                            Tolerances tolerances = Tolerances::if_any);

// Id of the GPU that most points were measured on; the first by name of several. Throws InputError where there is none.
std::string hardware_with_most_records(const Comparison& comparison);

}  // namespace tilescope
