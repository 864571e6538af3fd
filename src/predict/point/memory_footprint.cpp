#include "predict/point/memory_footprint.h"

#include <algorithm>

#include "base/checked.h"

namespace tilescope {
namespace {

// Values of the array as this launch sees it: an axis of parts has as many as its keys are cut into.
std::int64_t whole_values(const BoundIsland& bound, const Array& array) {
  std::int64_t values = 1;
  for (const AxisId id : array.axes) {
    const Axis& axis = bound.plan.schedule.diagram.axes[index(id)];
    values = checked_mul(values, axis.chunks_of ? bound.nest.chunked.chunks() : axis.size_in(bound.point.workload));
  }
  return values;
}

}  // namespace

Allocations memory_footprint(std::span<const BoundIsland> launches) {
  Allocations kept;
  if (launches.empty()) return kept;
  const Diagram& diagram = launches.front().plan.schedule.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (diagram.arrays[i].alias_of) continue;  // a view comes with its source
    const auto touched = std::find_if(launches.begin(), launches.end(),
                                      [&](const BoundIsland& bound) { return stores(bound, id) || loads(bound, id); });
    if (touched == launches.end()) continue;
    kept.add(
        {.array = id,
         .accumulator = false,
         .copies = 1,
         .tile_bytes = checked_add(bytes_of(touched->point, diagram, id, whole_values(*touched, diagram.arrays[i])),
                                   array_scale_bytes(touched->point, id))});
  }
  return kept;
}

}  // namespace tilescope
