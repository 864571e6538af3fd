// What the terminal at a file descriptor can show.
#pragma once

#include <cstddef>
#include <string>

#include "cli/input/choices.h"

namespace tilescope::cli {

// Columns of the terminal: $COLUMNS, else what the terminal says, else 80; at least 40. 0: not a terminal, so no limit.
std::size_t terminal_width(int descriptor);

// automatic: a terminal that is not "dumb", and $NO_COLOR is unset or empty.
bool colour_wanted(ColourChoice choice, int descriptor);

std::string bold(const std::string& text, bool colour);
std::string red(const std::string& text, bool colour);

// "error:" and "infeasible:" in red, where a line begins with them or a place and ": " stand before.
std::string coloured_errors(std::string text, bool colour);

}  // namespace tilescope::cli
