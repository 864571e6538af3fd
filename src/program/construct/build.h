// From a schedule to the program that it stands for.
#pragma once

#include <string>
#include <variant>

#include "diagram/primitives.h"
#include "program/program.h"

namespace tilescope {

struct NoProgram {
  std::string reason;  // one line: what cannot be placed in these loops, and why
};

// The program of one island. `primitives`: expand(schedule.diagram). A fold that a loop cuts runs on the state of its
// witness (stream/witness.h); everything else is computed in the outermost loop in which all its inputs are complete.
std::variant<TileProgram, NoProgram> build_program(const Schedule& schedule, const Primitives& primitives, int island);

}  // namespace tilescope
