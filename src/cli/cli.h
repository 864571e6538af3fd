// The command line: each call runs one command.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace tilescope::cli {

// Runs "tilescope <words...>". Prints results to stdout and diagnostics to stderr. Returns the exit status: 0 done, 1
// negative answer, 2 bad usage or input, 3 no device, 141 (128 + SIGPIPE) the reader of stdout has closed it.
int run(const std::vector<std::string>& words);

// The same, but errors pass as exceptions, and signals stay as they are.
ExitStatus dispatch(const std::vector<std::string>& words);

}  // namespace tilescope::cli
