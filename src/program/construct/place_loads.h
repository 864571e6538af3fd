// Where a program loads its inputs.
#pragma once

#include <functional>
#include <vector>

#include "program/program.h"

namespace tilescope {

// The statements of each loop's body, before and after the loop inside it; by the number of loops around them.
struct Levels {
  std::vector<std::vector<Statement>> before, after;
};

// Whether two accumulators have their last visits at the same steps.
using SameVisits = std::function<bool(int, int)>;

// Adds the load of a tile that the loop `level` (-1: none) is the innermost to move: in its body, just before the first
// use there. Where every use runs at the last visit to some accumulator, the load does, too. `readers`: tiles whose
// statements use it without naming it.
void place_load(Levels& levels, const TileProgram& program, const std::vector<int>& readers, int tile, int level,
                const SameVisits& same_visits);

}  // namespace tilescope
