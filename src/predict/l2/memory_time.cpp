#include "predict/l2/memory_time.h"

#include "predict/l2/memory_seconds.h"

namespace tilescope {

MemoryTime memory_time(const BoundIsland& bound, const LaunchCounts& counts) {
  const double read = static_cast<double>(counts.traffic.read(Boundary::hbm)),
               written = static_cast<double>(counts.traffic.written(Boundary::hbm));
  return {.hbm = read + written == 0 ? 0 : hbm_seconds(bound.hardware, read, written),
          .l2 = l2_seconds(bound, counts),
          .last_level = last_level_seconds(bound.hardware, moved(counts, Boundary::llc))};
}

}  // namespace tilescope
