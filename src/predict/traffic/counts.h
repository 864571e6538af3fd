// What one launch executes, holds and moves, before and after the L2 is known.
#pragma once

#include <memory_resource>

#include "predict/point/footprint.h"
#include "predict/traffic/spills.h"
#include "predict/traffic/terms.h"

namespace tilescope {

// The launch's own counts, whatever the L2 holds: terms at L2, shared memory and registers.
struct TileCounts {
  const Footprint* footprint = nullptr;  // lies in BoundIsland::known
  Occupancy occupancy;
  Work work;
  SpillTraffic spills;
  Terms terms;
};
// Where only bytes of the memory are wanted, work and terms inside the L2 are left out.
TileCounts tile_counts(const BoundIsland& bound, std::pmr::memory_resource* memory = std::pmr::get_default_resource(),
                       Wanted wanted = Wanted::times);

// Blocks that all multiprocessors have room for at once.
std::int64_t resident_blocks(const BoundIsland& bound, const Occupancy& occupancy);

}  // namespace tilescope
