// The options that say what a file of another tool lacks: shared by import, run --from and validate --import.
#pragma once

#include "cli/input/options.h"
#include "compare/compare.h"
#include "import/import_file.h"

namespace tilescope::cli {

std::vector<OptionSpec> tool_file_options();  // --hardware, --set, --kernel, --point, --caches, --ignore

std::vector<imported::GivenPoint> given_points(const Arguments& arguments);  // --point

// The file of another tool, or of measurements in YAML, as records. Throws InputError.
imported::Imported read_imported(const Arguments& arguments, const std::string& file);

// Its records set against predictions, with the tolerances of --experiment, else none.
Comparison compare_imported(const Arguments& arguments, const std::vector<validate::Record>& records);

}  // namespace tilescope::cli
