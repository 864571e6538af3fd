// Bytes that no schedule can avoid.
#pragma once

#include <span>

#include "predict/point/bound_island.h"

namespace tilescope {

// Every input value that the mask leaves visible read once; every output that the schedule's launches store written
// once: all of it, or the rows and keys that see something if a kernel leaves the others as they are. What passes
// between launches is not compulsory. `launches`: all of the schedule, at least one.
std::int64_t compulsory_bytes(std::span<const BoundIsland> launches);

}  // namespace tilescope
