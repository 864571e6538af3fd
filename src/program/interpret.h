// Executes a program on numbers and counts what it moves and holds.
#pragma once

#include <map>
#include <string>

#include "cost/nest.h"
#include "program/direct.h"
#include "program/program.h"

namespace tilescope {

struct Moved {
  std::int64_t loaded = 0, stored = 0;
  friend bool operator==(const Moved&, const Moved&) = default;
};

struct Execution {
  std::map<ArrayId, Moved> moved{};  // of the schedule's diagram; values
  std::int64_t held = 0;             // values on the chip at most, in any block (program/held.h)
};

// `nest`: the island's, bound to sizes, tiles and a mask. Arrays that the program stores are created in `memory`.
Execution interpret(const TileProgram& program, const Schedule& schedule, const Nest& nest, Memory& memory);

}  // namespace tilescope
