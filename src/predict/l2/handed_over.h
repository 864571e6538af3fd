// What the L2 still holds, when the islands of a schedule run in sequence, of what earlier ones wrote.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

bool from_earlier_island(const BoundIsland& bound, ArrayId id);

// Bytes from memory that an earlier island has written and the L2 still holds when islands run in sequence.
double handed_over(const BoundIsland& bound, const Prediction& out);
// The same, of one array.
double handed_over(const BoundIsland& bound, const Prediction& out, ArrayId id);
// The same of all arrays, had the L2 room for them.
double written_earlier(const BoundIsland& bound, const Prediction& out);

// Bytes of an array that memory brings to this island when it runs alone.
double read_alone(const BoundIsland& bound, const Prediction& out, ArrayId id);

}  // namespace tilescope
