#include "predict/point/memory_footprint.h"

#include <algorithm>

#include "base/checked.h"

namespace tilescope {
namespace {

// Values of the array as this launch sees it: an axis of parts has as many as its keys are cut into.
std::int64_t whole_values(const BoundIsland& bound, const Array& array,
                          const std::array<std::int64_t, max_axes>& sizes) {
  std::int64_t values = 1;
  for (const AxisId id : array.axes) {
    const bool of_parts = bound.plan.schedule.diagram.axes[index(id)].chunks_of.has_value();
    values = checked_mul(values, of_parts ? bound.nest.chunked.chunks() : sizes[index(id)]);
  }
  return values;
}

}  // namespace

Allocations memory_footprint(std::span<const BoundIsland> launches) {
  Allocations kept;
  if (launches.empty()) return kept;
  const Diagram& diagram = launches.front().plan.schedule.diagram;
  std::array<std::int64_t, max_axes> sizes{};
  for (std::size_t i = 0; i < diagram.axes.size(); ++i)
    sizes[i] = diagram.axes[i].size_in(launches.front().point.workload);
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (diagram.arrays[i].alias_of) continue;  // a view comes with its source
    const auto touched = std::find_if(launches.begin(), launches.end(),
                                      [&](const BoundIsland& bound) { return stores(bound, id) || loads(bound, id); });
    if (touched == launches.end()) continue;
    kept.add({.array = id,
              .accumulator = false,
              .copies = 1,
              .tile_bytes =
                  checked_add(bytes_of(touched->point, diagram, id, whole_values(*touched, diagram.arrays[i], sizes)),
                              array_scale_bytes(touched->point, id))});
  }
  return kept;
}

}  // namespace tilescope
