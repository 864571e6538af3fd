// The options that name records and their tolerances: shared by validate and report.
#pragma once

#include <functional>

#include "cli/input/options.h"
#include "compare/recorded.h"

namespace tilescope::cli {

std::vector<OptionSpec> recorded_options();  // --recorded, --experiment, --threads

inline constexpr const char* each_choice = "each";
std::vector<OptionSpec> time_model_options();                          // --without, --engine
TimeChoices time_choices(const Arguments& arguments);                  // "each" counts as not given
std::filesystem::path recorded_directory(const Arguments& arguments);  // --recorded, or that of the data directory

using RecordProgress = std::function<void(std::size_t done, std::size_t all)>;

// Compares the records of --recorded (default: those of the data directory) with the tolerances of --experiment
// (default: each record's own).
Comparison compare_recorded(const Arguments& arguments, Keep keep, const RecordProgress& progress,
                            Tolerances tolerances = Tolerances::if_any);

// The same for the records of another directory; keeps their points.
Comparison compare_recorded(const Arguments& arguments, const std::filesystem::path& directory,
                            const RecordProgress& progress);

}  // namespace tilescope::cli
