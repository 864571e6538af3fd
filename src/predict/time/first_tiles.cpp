#include "predict/time/first_tiles.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "predict/l2/memory_seconds.h"
#include "predict/l2/walk/nest_steps.h"
#include "predict/point/code_of.h"
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

// For their first `steps` steps, where all blocks begin at the same tile of their stream.
Asked for_first_steps(const BoundIsland& bound, ArrayId id, std::int64_t blocks, std::int64_t steps) {
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

// The same by the number of first steps, up to `most` of them, where each block begins at the first tile of the stream
// that the mask leaves it.
std::vector<Asked> under_mask(const BoundIsland& bound, std::size_t stream, ArrayId id, std::int64_t blocks,
                              std::int64_t most) {
  const BlockOrder order(bound);
  const NestSteps steps(bound);
  const BoundLoop& loop = bound.nest.loops[stream];
  const AxisBits axes = bits(bound.plan.schedule.diagram.array(id).axes);
  std::vector<std::pair<BlockPlace, std::int64_t>> tiles;  // the trips of the loops that it moves with; in which step
  for (std::int64_t number = 0; number < blocks; ++number) {
    NestPlace place{.at = order.at(number)};
    bool live = steps.first(place);
    for (std::int64_t step = 0; live && step < most; ++step, live = steps.next(place)) {
      BlockPlace& tile = tiles.emplace_back(place.at, step).first;
      for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
        if (!Nest::carries(axes, bound.nest.loops[i])) tile[i] = 0;
    }
  }
  std::sort(tiles.begin(), tiles.end());
  std::vector<Asked> asked(static_cast<std::size_t>(most));
  const auto bytes = static_cast<double>(tile_bytes(bound, id));
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto& [tile, step] = tiles[i];
    if (i > 0 && tiles[i - 1].first == tile) continue;  // another block asks for it no later
    const std::int64_t rows = std::min(loop.tile, loop.size - tile[stream] * loop.tile);
    Asked& own = asked[static_cast<std::size_t>(step)];
    own.brought += bytes, own.read += bytes * static_cast<double>(rows) / static_cast<double>(loop.tile);
  }
  for (std::size_t i = 1; i < asked.size(); ++i)
    asked[i].brought += asked[i - 1].brought, asked[i].read += asked[i - 1].read;
  return asked;
}

}  // namespace

FirstTiles first_tiles(const LaunchAtSm& launch, double step_seconds) {
  const BoundIsland& bound = launch.bound;
  if (waits_for_loads(bound)) return {};  // its blocks' own waits
  const std::int64_t blocks = std::min(bound.nest.blocks(), resident_blocks(bound, launch.counts.occupancy));
  const int stream = stream_under_mask(bound);
  const Diagram& diagram = bound.plan.schedule.diagram;
  std::vector<Asked> asked;  // of all arrays, by the number of first steps; later ones ask for nothing more
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id)) continue;
    const std::int64_t ahead = asked_ahead(bound, id);
    asked.resize(std::max(asked.size(), static_cast<std::size_t>(ahead)), asked.empty() ? Asked{} : asked.back());
    const auto at = static_cast<std::size_t>(stream);
    const bool by_mask = stream >= 0 && Nest::carries(bits(diagram.array(id).axes), bound.nest.loops[at]);
    const std::vector<Asked> masked = by_mask ? under_mask(bound, at, id, blocks, ahead) : std::vector<Asked>{};
    for (std::size_t step = 0; step < asked.size(); ++step) {
      const std::int64_t own = std::min(static_cast<std::int64_t>(step) + 1, ahead);
      const Asked bytes = by_mask ? masked[static_cast<std::size_t>(own - 1)] : for_first_steps(bound, id, blocks, own);
      asked[step].read += bytes.read, asked[step].brought += bytes.brought;
    }
  }
  // Tiles come in the order in which they were asked for: those of a step when those of the steps before it have come.
  const auto& measured = bound.hardware.measured;
  const bool l2_known = measured && measured->l2.read_private;
  FirstTiles first;
  for (std::size_t step = 0; step < asked.size(); ++step) {
    const double before = static_cast<double>(step) * step_seconds,
                 cold = hbm_seconds(bound.hardware, asked[step].read, 0),
                 warm = l2_known ? asked[step].brought / measured->l2.read_private->value : cold;
    first.cold = std::max(first.cold, cold - before), first.warm = std::max(first.warm, warm - before);
  }
  return first;
}

}  // namespace tilescope
