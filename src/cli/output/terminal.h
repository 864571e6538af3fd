// Width and colours of the terminal at a file descriptor.
#pragma once

#include <cstddef>
#include <string>

#include "cli/input/choices.h"

namespace tilescope::cli {

// Width of the terminal in characters: $COLUMNS, or the terminal's size, or 80; at least 40. 0: not a terminal.
std::size_t terminal_width(int descriptor);

// `automatic` gives colours on a terminal that is not "dumb" if $NO_COLOR is unset or empty.
bool colour_wanted(ColourChoice choice, int descriptor);

std::string bold(const std::string& text, bool colour);
std::string red(const std::string& text, bool colour);

// Colours "error:" and "infeasible:" red at the beginning of a line and after ": ".
std::string coloured_errors(std::string text, bool colour);

}  // namespace tilescope::cli
