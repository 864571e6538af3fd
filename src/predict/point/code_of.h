// The machine code of the built instance that a point selects.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// The summary of the machine code that runs the island's products; nullptr: it is not known.
const InstanceCode* code_of(const BoundIsland& bound);

// What a warp executes in a step; in a round, where products take rounds. 0: the code is not known.
double of_step(const BoundIsland& bound, CodeCount count);

// Whether products are multiply-adds whose operands threads stage in rounds.
bool works_in_rounds(const BoundIsland& bound);

// Whether blocks have no products, and the code tells how often each waits for loads.
bool waits_for_loads(const BoundIsland& bound);

}  // namespace tilescope
