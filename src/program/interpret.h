// Executes a program on numbers and counts what it moves.
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
};

// `nest`: the island's, bound to sizes, tiles and a mask. Arrays that the program stores are created in `memory`.
Execution interpret(const TileProgram& program, const Schedule& schedule, const Nest& nest, Memory& memory);

}  // namespace tilescope
