// A program as text.
#pragma once

#include <string>

#include "program/program.h"

namespace tilescope {

// Indented statements, one a line: what is printed is what interpret() executes.
std::string to_text(const TileProgram& program, const Schedule& schedule);

}  // namespace tilescope
