#include "predict/point/memory_footprint.h"

#include <algorithm>

#include "base/checked.h"
#include "predict/point/block_memory.h"

namespace tilescope {
namespace {

// Whether the launch writes every row and key of its result, under a mask too: its loops skip no tiles, it finishes
// rows without a key as well, or the whole array is zeroed beforehand.
bool writes_all(const BoundIsland& launch, ArrayId id) {
  const Schedule& schedule = launch.plan.schedule;
  if (launch.how.writes_masked_rows || !launch.island.skips_masked_tiles || !schedule.diagram.guard) return true;
  const auto loops_over = [&](AxisId axis) {
    return std::any_of(launch.island.loops.begin(), launch.island.loops.end(),
                       [&](const Loop& loop) { return loop.axis == axis; });
  };
  return !loops_over(schedule.diagram.guard->query) || !loops_over(schedule.diagram.guard->key) ||
         schedule.how_stored(launch.island, id).zeroed;
}

Compulsory compulsory_part(std::span<const BoundIsland> launches, ArrayId id) {
  const Array& array = launches.front().plan.schedule.diagram.array(id);
  if (array.role == ArrayRole::interior) return Compulsory::none;
  if (array.role == ArrayRole::input) return Compulsory::visited_rows;
  Compulsory found = Compulsory::none;
  for (const BoundIsland& launch : launches)
    if (stores(launch, id))
      found = std::max(found, writes_all(launch, id) ? Compulsory::all_rows : Compulsory::visited_rows);
  return found;
}

std::vector<WholeArray> new_arrays(std::span<const BoundIsland> launches) {
  const Diagram& diagram = launches.front().plan.schedule.diagram;
  std::vector<WholeArray> arrays;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (diagram.arrays[i].alias_of) continue;
    WholeArray array{.id = id, .axes = bits(diagram.arrays[i].axes), .compulsory = compulsory_part(launches, id)};
    for (const AxisId axis : diagram.arrays[i].axes)
      if (diagram.axes[index(axis)].chunks_of) array.parts |= bit(axis);
    const auto touches = [&](const BoundIsland& launch) { return stores(launch, id) || loads(launch, id); };
    if (const auto first = std::find_if(launches.begin(), launches.end(), touches); first != launches.end())
      array.launch = static_cast<int>(first - launches.begin());
    if (array.launch >= 0 || array.compulsory != Compulsory::none) arrays.push_back(array);
  }
  return arrays;
}

}  // namespace

const std::vector<WholeArray>& whole_arrays(std::span<const BoundIsland> launches) {
  KnownBlock& known = *launches.front().known;
  // Other implementations of a launch may load and store other arrays.
  if (known.arrays.empty() || !launches.front().plan.kernel.others.empty()) known.arrays = new_arrays(launches);
  return known.arrays;
}

std::array<std::int64_t, max_axes> axis_sizes(std::span<const BoundIsland> launches) {
  const BoundIsland& launch = launches.front();
  std::array<std::int64_t, max_axes> sizes = launch.nest.sizes;
  const auto& axes = launch.plan.schedule.diagram.axes;
  for (std::size_t i = 0; launch.plan.kernel.packed_rows && i < axes.size(); ++i)
    sizes[i] = axes[i].size_in(launch.point.workload);
  return sizes;
}

Allocations memory_footprint(std::span<const BoundIsland> launches) {
  Allocations kept;
  if (launches.empty()) return kept;
  const Diagram& diagram = launches.front().plan.schedule.diagram;
  const auto sizes = axis_sizes(launches);
  for (const WholeArray& array : whole_arrays(launches)) {
    if (array.launch < 0) continue;
    const BoundIsland& launch = launches[static_cast<std::size_t>(array.launch)];
    std::int64_t values = WholeArray::values(array.axes & ~array.parts, sizes);
    for (AxisBits left = array.parts; left != 0; left &= left - 1)
      values = checked_mul(values, launch.nest.chunked.chunks());
    kept.add({.array = array.id,
              .accumulator = false,
              .copies = 1,
              .tile_bytes = checked_add(bytes_of(launch.point, diagram, array.id, values),
                                        array_scale_bytes(launch.point, array.id))});
  }
  return kept;
}

}  // namespace tilescope
