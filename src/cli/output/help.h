// The --help text of a command from its option list.
#pragma once

#include <string>
#include <vector>

#include "cli/input/options.h"

namespace tilescope::cli {

// Prints usage, options and examples, when --help is among the words.
bool help_wanted(const std::vector<std::string>& words, const std::string& usage, const std::vector<OptionSpec>& specs,
                 const std::string& examples);

}  // namespace tilescope::cli
