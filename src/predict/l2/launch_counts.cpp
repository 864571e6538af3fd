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

double read_from(Boundary level, const LaunchCounts& counts, ArrayId id) {
  double bytes = 0;
  for (const Term& term : counts.terms)
    if (term.array == static_cast<int>(id) && term.boundary == level && term.direction == Direction::read)
      bytes += static_cast<double>(term.bytes);
  return bytes;
}

bool from_earlier_launch(const BoundIsland& bound, ArrayId id) {
  const Schedule& schedule = bound.plan.schedule;
  for (int i = 0; i < bound.number; ++i)
    if (schedule.writes(schedule.islands[static_cast<std::size_t>(i)], id)) return true;
  return false;
}

}  // namespace tilescope
