// Help from the command table. Lines are wrapped to `width` characters; 0: any length.
#pragma once

#include <string>

#include "cli/command.h"

namespace tilescope::cli {

std::string program_help(std::size_t width);                          // the list of commands
std::string command_help(const Command& command, std::size_t width);  // usage, options, examples, notes

// An option with what it takes: "q-len N".
std::string spelling(const OptionSpec& spec);

}  // namespace tilescope::cli
