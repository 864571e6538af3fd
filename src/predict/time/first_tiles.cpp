#include "predict/time/first_tiles.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "predict/grid/block_order.h"
#include "predict/l2/memory_seconds.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

// Tiles of an array that a block asks for before its first step.
std::int64_t asked_ahead(const BoundIsland& bound, ArrayId id) {
  if (!bound.streams(id)) return 1;
  const std::int64_t stages = stages_of(bound, id);
  // Threads ask for the tile that takes a buffer's place when they begin a step.
  const std::int64_t ahead = bound.how.load().bulk ? stages : stages - 1;
  return std::clamp<std::int64_t>(ahead, 1, std::max<std::int64_t>(1, steps_of(bound.nest)));
}

// Bytes of the different tiles of an array that the first blocks of the launch ask for: read from memory, and brought
// by the L2, which also brings rows past the array's end.
struct Asked {
  double read = 0, brought = 0;
};

// All blocks begin at the same tile of their stream.
Asked first_steps(const BoundIsland& bound, ArrayId id, std::int64_t blocks, std::int64_t steps) {
  const AxisBits axes = bits(bound.plan.schedule.diagram.array(id).axes);
  std::int64_t sharers = 1;  // blocks that begin with the same tile
  for (const BoundLoop& loop : bound.nest.all())
    if (loop.group && !Nest::carries(axes, loop)) sharers *= loop.trips;
  const auto bytes = static_cast<double>(ceil_div(blocks, sharers) * steps * tile_bytes(bound, id));
  return {bytes, bytes};
}

// Position in the nest of the stream at one of whose tiles, decided by the mask, each block begins. -1: all blocks
// begin at the same tile, or are not counted one by one.
int stream_under_mask(const BoundIsland& bound) {
  const Nest& nest = bound.nest;
  if (!nest.guarded() || bound.point.l2 != L2Model::walk) return -1;
  const auto grouped = [&](int loop) { return nest.loops[static_cast<std::size_t>(loop)].group; };
  if (grouped(nest.query_loop) == grouped(nest.key_loop)) return -1;
  return grouped(nest.key_loop) ? nest.query_loop : nest.key_loop;
}

// Each block begins at the first tile of its stream that the mask leaves it.
Asked first_visited(const BoundIsland& bound, const BlockOrder& order, std::size_t stream, ArrayId id,
                    std::int64_t blocks, std::int64_t steps) {
  const BoundLoop& loop = bound.nest.loops[stream];
  const AxisBits axes = bits(bound.plan.schedule.diagram.array(id).axes);
  std::vector<BlockPlace> tiles;  // each by the trips of the loops that the array moves with
  for (std::int64_t number = 0; number < blocks; ++number) {
    const BlockPlace place = order.at(number);
    BlockPlace tile = place;
    for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
      if (!Nest::carries(axes, bound.nest.loops[i])) tile[i] = 0;
    order.first_visited(place, steps, [&](std::int64_t trip) { tile[stream] = trip, tiles.push_back(tile); });
  }
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  Asked asked;
  for (const BlockPlace& tile : tiles) {
    const auto bytes = static_cast<double>(tile_bytes(bound, id));
    const std::int64_t rows = std::min(loop.tile, loop.size - tile[stream] * loop.tile);
    asked.brought += bytes, asked.read += bytes * static_cast<double>(rows) / static_cast<double>(loop.tile);
  }
  return asked;
}

}  // namespace

FirstTiles first_tiles(const LaunchAtSm& launch, double step_seconds) {
  const BoundIsland& bound = launch.bound;
  if (!bound.how.waits.loads.empty()) return {};  // its blocks' own waits
  const std::int64_t blocks = std::min(bound.nest.blocks(), resident_blocks(bound, launch.counts.occupancy));
  const int stream = stream_under_mask(bound);
  std::optional<BlockOrder> order;
  if (stream >= 0) order.emplace(bound);
  const Diagram& diagram = bound.plan.schedule.diagram;
  // Tiles come in the order in which they were asked for: those of a step when those of the steps before it have come.
  const auto until = [&](std::int64_t steps) {
    Asked asked;
    for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
      const auto id = static_cast<ArrayId>(static_cast<int>(i));
      if (!loads(bound, id)) continue;
      const auto at = static_cast<std::size_t>(stream);
      const bool by_mask = order && Nest::carries(bits(diagram.array(id).axes), bound.nest.loops[at]);
      const std::int64_t own = std::min(steps, asked_ahead(bound, id));
      const Asked bytes =
          by_mask ? first_visited(bound, *order, at, id, blocks, own) : first_steps(bound, id, blocks, own);
      asked.read += bytes.read, asked.brought += bytes.brought;
    }
    return asked;
  };
  std::int64_t ahead = 1;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i)
    if (const auto id = static_cast<ArrayId>(static_cast<int>(i)); loads(bound, id))
      ahead = std::max(ahead, asked_ahead(bound, id));
  const auto& measured = bound.hardware.measured;
  const bool l2_known = measured && measured->l2.read_private;
  FirstTiles first;
  for (std::int64_t steps = 1; steps <= ahead; ++steps) {
    const Asked asked = until(steps);
    const double before = static_cast<double>(steps - 1) * step_seconds,
                 cold = hbm_seconds(bound.hardware, asked.read, 0),
                 warm = l2_known ? asked.brought / measured->l2.read_private->value : cold;
    first.cold = std::max(first.cold, cold - before), first.warm = std::max(first.warm, warm - before);
  }
  return first;
}

}  // namespace tilescope
