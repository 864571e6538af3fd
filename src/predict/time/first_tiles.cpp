#include "predict/time/first_tiles.h"

#include <algorithm>

#include "base/checked.h"
#include "predict/l2/memory_seconds.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

// Tiles of an array that a block asks for before its first step. They are all on their way together: the first is whole
// when nearly all have come.
std::int64_t asked_ahead(const BoundIsland& bound, ArrayId id) {
  if (!bound.streams(id)) return 1;
  const std::int64_t stages = stages_of(bound, id);
  // Threads ask for the tile that takes a buffer's place when they begin a step.
  const std::int64_t ahead = bound.how.load().bulk ? stages : stages - 1;
  return std::clamp<std::int64_t>(ahead, 1, std::max<std::int64_t>(1, steps_of(bound.nest)));
}

}  // namespace

FirstTiles first_tiles(const BoundIsland& bound, const LaunchCounts& counts) {
  const std::int64_t first = std::min(bound.nest.blocks(), resident_blocks(bound, counts.occupancy));
  double bytes = 0;
  if (!bound.how.waits.loads.empty()) return {};  // its blocks' own waits
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id)) continue;
    const AxisBits axes = bits(diagram.array(id).axes);
    std::int64_t sharers = 1;  // blocks that begin with the same tile
    for (const BoundLoop& loop : bound.nest.all())
      if (loop.group && !Nest::carries(axes, loop)) sharers *= loop.trips;
    bytes += static_cast<double>(ceil_div(first, sharers)) *
             static_cast<double>(asked_ahead(bound, id) * tile_bytes(bound, id));
  }
  const double cold = std::max(0.0, hbm_seconds(bound.hardware, bytes, 0));
  const auto& measured = bound.hardware.measured;
  if (!measured || !measured->l2.read_private) return {.cold = cold, .warm = cold};
  return {.cold = cold, .warm = bytes / measured->l2.read_private->value};
}

}  // namespace tilescope
