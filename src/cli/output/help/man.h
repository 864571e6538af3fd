// Manual pages from the command table, as roff with the man macros.
#pragma once

#include <string>

#include "cli/command.h"

namespace tilescope::cli {

std::string program_man_page();                        // tilescope(1)
std::string command_man_page(const Command& command);  // tilescope-NAME(1)

}  // namespace tilescope::cli
