// What the L2 still holds, when the launches of a schedule run in sequence, of what earlier ones wrote.
#pragma once

#include <span>

#include "predict/l2/launch_counts.h"

namespace tilescope {

using Launches = std::span<const LaunchCounts>;  // counts of the schedule's launches, up to the bound one at least

// Whether an earlier launch writes the array.
bool from_earlier_launch(const BoundIsland& bound, ArrayId id);

// Bytes that this launch would read from memory, and that the L2 still holds because an earlier launch wrote them.
double handed_over(const BoundIsland& bound, Launches launches);
// The same, of one array.
double handed_over(const BoundIsland& bound, Launches launches, ArrayId id);
// Upper bound: bytes handed over with an unlimited L2.
double handed_over_unlimited(const BoundIsland& bound, Launches launches);

// Bytes of an array that memory brings to the launch when it runs by itself, with an empty L2.
double read_from_memory(const LaunchCounts& counts, ArrayId id);

}  // namespace tilescope
