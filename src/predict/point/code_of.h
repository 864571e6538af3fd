// The machine code of the built instance that a point selects.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// The summary of the machine code that runs the island's products; nullptr: it is not known.
const InstanceCode* code_of(const BoundIsland& bound);

// Shuffles of a row's step that follow on each other: each lane of the row executes them.
double shuffles_of_row(const BoundIsland& bound);

}  // namespace tilescope
