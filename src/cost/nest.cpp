#include "cost/nest.h"

#include <stdexcept>

#include "base/checked.h"

namespace tilescope {

const BoundLoop* Nest::loop_over(AxisId axis) const {
  for (const BoundLoop& loop : all())
    if (loop.axis == axis) return &loop;
  return nullptr;
}

std::int64_t Nest::blocks() const {
  std::int64_t count = 1;
  for (const BoundLoop& loop : all()) count = loop.group ? checked_mul(count, loop.trips) : count;
  return count;
}

LiveTiles Nest::live_tiles() const {
  const BoundLoop& query = loops[static_cast<std::size_t>(query_loop)];
  const BoundLoop& key = loops[static_cast<std::size_t>(key_loop)];
  return LiveTiles(*mask, query.size, key.size, query.tile, key.tile);
}

Nest bind(const Schedule& schedule, const Island& island, const Workload& workload, const Mask& mask,
          std::span<const std::int64_t> tiles) {
  const Diagram& diagram = schedule.diagram;
  if (island.loops.size() > max_loops || diagram.axes.size() > max_axes)
    throw std::length_error("an island may have at most 12 loops and a diagram at most 16 axes");
  Nest nest;
  nest.diagram = &diagram;
  nest.mask = &mask;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) nest.sizes[i] = workload.size(diagram.axes[i].size);
  for (const Loop& loop : island.loops) {
    const std::int64_t tile =
        loop.tile.parameter < 0 ? loop.tile.literal : tiles[static_cast<std::size_t>(loop.tile.parameter)];
    const std::int64_t size = nest.size(loop.axis);
    const int position = static_cast<int>(nest.loop_count);
    nest.loops[nest.loop_count++] = {loop.axis, loop.partition == Partition::group, size, tile, ceil_div(size, tile)};
    if (diagram.guard && loop.axis == diagram.guard->query) nest.query_loop = position;
    if (diagram.guard && loop.axis == diagram.guard->key) nest.key_loop = position;
  }
  const bool both = nest.query_loop >= 0 && nest.key_loop >= 0;
  if (!both || !island.skips_masked_tiles || mask.kind == Mask::Kind::none) nest.query_loop = nest.key_loop = -1;
  return nest;
}

}  // namespace tilescope
