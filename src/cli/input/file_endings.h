// What the ending of -o FILE says about the format: one rule for all commands.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "request/option_specs.h"

namespace tilescope::cli {

// "csv" of x.csv, "sqlite" of x.db; empty: the ending is of no format.
std::string format_of_ending(const std::string& file);

// Sets --format by the ending where none is given. Refuses a --format that the ending contradicts, and an ending of a
// format that the command does not write. Directories have no format.
void choose_format(const std::string& command, std::map<std::string, std::vector<std::string>>& values,
                   const std::vector<OptionSpec>& specs, bool runs_program);

}  // namespace tilescope::cli
