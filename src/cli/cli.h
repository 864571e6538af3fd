// The command line: one binary, one verb a command.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace tilescope::cli {

// Runs "tilescope <words...>"; prints results to stdout, diagnostics to stderr, and returns the exit status.
int run(const std::vector<std::string>& words);

// One command each; words exclude the command's name.
ExitStatus hardware_command(const std::vector<std::string>& words);
ExitStatus predict_command(const std::vector<std::string>& words);
ExitStatus explain_command(const std::vector<std::string>& words);
ExitStatus derive_command(const std::vector<std::string>& words);
ExitStatus search_command(const std::vector<std::string>& words);
ExitStatus compare_command(const std::vector<std::string>& words);
ExitStatus sweep_command(const std::vector<std::string>& words);
ExitStatus measure_command(const std::vector<std::string>& words);
ExitStatus records_command(const std::vector<std::string>& words);
ExitStatus validate_command(const std::vector<std::string>& words);
ExitStatus report_command(const std::vector<std::string>& words);

}  // namespace tilescope::cli
