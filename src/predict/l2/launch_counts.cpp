#include "predict/l2/launch_counts.h"

#include <utility>

namespace tilescope {

LaunchCounts launch_counts(const TileCounts& tiles, MemoryTraffic memory) {
  Terms terms = std::move(memory.terms);
  terms.insert(terms.end(), tiles.terms.begin(), tiles.terms.end());
  const Traffic traffic = sum_of(terms);
  return {.footprint = tiles.footprint,
          .occupancy = tiles.occupancy,
          .work = tiles.work,
          .local = tiles.spills.local,
          .terms = std::move(terms),
          .traffic = traffic,
          .l2_walked = memory.walked};
}

double moved(const LaunchCounts& counts, Boundary boundary) { return moved(counts.traffic, boundary); }

}  // namespace tilescope
