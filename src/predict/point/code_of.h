// The machine code of the built instance that a point selects.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// The summary of the machine code that runs the island's products; nullptr: it is not known.
const InstanceCode* code_of(const BoundIsland& bound);

}  // namespace tilescope
