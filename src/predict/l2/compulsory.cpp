#include "predict/l2/compulsory.h"

#include <algorithm>

#include "base/checked.h"
#include "cost/live_tiles.h"
#include "predict/l2/memory_traffic.h"
#include "predict/point/memory_footprint.h"

namespace tilescope {

std::int64_t compulsory_bytes(std::span<const BoundIsland> launches) {
  const Point& point = launches.front().point;
  const Plan& plan = launches.front().plan;
  const Diagram& diagram = plan.schedule.diagram;
  const auto sizes = axis_sizes(launches);
  auto visited = sizes;
  if (diagram.guard && point.mask.masks()) {
    const Workload lengths = guarded_lengths(diagram, point.workload);
    const LiveSums seen = visible_pairs(point.mask, lengths.q_len, lengths.kv_len);
    visited[index(diagram.guard->query)] = seen.rows, visited[index(diagram.guard->key)] = seen.keys;
  }
  std::int64_t total = 0;
  for (const WholeArray& array : whole_arrays(launches)) {
    if (array.compulsory == Compulsory::none) continue;
    const auto& extents = array.compulsory == Compulsory::all_rows ? sizes : visited;
    const std::int64_t bytes = bytes_of(point, diagram, array.id, WholeArray::values(array.axes, extents));
    total = checked_add(total, checked_add(bytes, array_scale_bytes(point, array.id)));
  }
  std::int64_t mask = 0;
  for (const IslandImplementation& how : plan.kernel.islands) mask = std::max(mask, mask_bytes(how, point));
  return checked_add(total, mask);
}

}  // namespace tilescope
