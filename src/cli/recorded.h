// Reading records with their experiments and comparing them: shared by validate and report.
#pragma once

#include "cli/input/options.h"
#include "compare/compare.h"

namespace tilescope::cli {

std::vector<OptionSpec> recorded_options();  // --recorded, --experiment

// Compares all records below --recorded (default validate/recorded of the data directory). Tolerances come from
// --experiment, else from validate/experiments/<name>.yaml of each record's experiment.
Comparison compare_recorded(const Arguments& arguments);
Comparison compare_recorded(const Arguments& arguments,
                            const std::filesystem::path& directory);  // of another directory

}  // namespace tilescope::cli
