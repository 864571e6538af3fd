#include "predict/l2/memory_time.h"

#include <algorithm>

#include "predict/l2/memory_seconds.h"
#include "predict/point/mechanisms.h"

namespace tilescope {

double MemoryTime::part_in_sequence() const {
  const double whole = std::max({hbm, last_level, l2});
  return whole > 0 ? in_sequence / whole : 1;
}

MemoryTime memory_time(const BoundIsland& bound, Launches launches) {
  const LaunchCounts& counts = launches[static_cast<std::size_t>(bound.number)];
  const double read = static_cast<double>(counts.traffic.read(Boundary::hbm)),
               written = static_cast<double>(counts.traffic.written(Boundary::hbm));
  const double kept = at_work(bound, Mechanism::handed_over) ? handed_over(bound, launches) : 0, left = read - kept;
  MemoryTime time;
  time.hbm = read + written == 0 ? 0 : hbm_seconds(bound.hardware, read, written);
  time.l2 = l2_seconds(bound, counts);
  time.last_level = last_level_seconds(bound.hardware, moved(counts, Boundary::llc));
  time.in_sequence =
      std::max({0.0, time.last_level, time.l2, left + written > 0 ? hbm_seconds(bound.hardware, left, written) : 0});
  // Where all blocks run at once, the last to end are those whose inputs were evicted: they wait for memory every time.
  time.inputs_evicted =
      grid_blocks(bound) <= resident_blocks(bound, counts.occupancy) && kept < handed_over_unlimited(bound, launches);
  time.read_in_sequence = time.inputs_evicted ? read : left;
  return time;
}

}  // namespace tilescope
