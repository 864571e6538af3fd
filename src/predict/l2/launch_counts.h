// All counts of one launch: its tiles' and what of them reaches memory.
#pragma once

#include "predict/l2/memory_traffic.h"

namespace tilescope {

struct LaunchCounts {
  Footprint footprint;
  Occupancy occupancy;
  Work work;
  LocalTraffic local;
  Terms terms;
  Traffic traffic;  // sums of the terms
  bool l2_walked = false;
};
LaunchCounts launch_counts(const TileCounts& tiles, MemoryTraffic memory);

// Bytes over a boundary, both ways.
double moved(const LaunchCounts& counts, Boundary boundary);

}  // namespace tilescope
