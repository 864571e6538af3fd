#include <cmath>

#include "predict/l2/walk/walk.h"
#include "predict/traffic/spills.h"

namespace tilescope {

std::int64_t walk_steps(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  if (point.l2 == L2Model::closed) return 0;
  std::int64_t steps = 0;
  for (const BoundIsland& bound : bind_islands(plan, hardware, point)) {
    const std::int64_t own = visited_points(bound.nest, bound.live, {}, false);
    const std::int64_t places = LocalFrames{.bytes = std::llround(block_frame_bytes(bound))}.places();
    if (own <= WalkOptions{}.most_steps / places) steps += own * places;
  }
  return steps;
}

}  // namespace tilescope
