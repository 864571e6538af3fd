// All counts of one launch: its tiles' and what of them reaches memory.
#pragma once

#include <span>

#include "predict/l2/memory_traffic.h"

namespace tilescope {

struct LaunchCounts {
  const Footprint* footprint = nullptr;  // lies in BoundIsland::known
  Occupancy occupancy;
  Work work;
  LocalTraffic local;
  Terms terms;
  Traffic traffic;  // sums of the terms
  bool l2_walked = false;
};
LaunchCounts launch_counts(const TileCounts& tiles, MemoryTraffic memory);

using Launches = std::span<const LaunchCounts>;  // of the schedule's launches

// Bytes over a boundary, both ways.
double moved(const LaunchCounts& counts, Boundary boundary);

// Bytes of an array that a level serves inwards: memory, the L2.
double read_from(Boundary level, const LaunchCounts& counts, ArrayId id);

// Whether an earlier launch writes the array.
bool from_earlier_launch(const BoundIsland& bound, ArrayId id);

}  // namespace tilescope
