#include "predict/l2/closed_form.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace tilescope {
namespace {

// Values loaded under a mask when the query tiles of a slice run in waves of `wave` tiles and each wave reads the keys
// its rows see: a wave whose keys fit finds what the previous wave left, one that does not reloads everything.
std::int64_t keys_loaded_in_waves(const Nest& nest, std::int64_t repeats, std::int64_t wave, double capacity_keys) {
  const LiveTiles tiles = nest.live_tiles();
  const std::int64_t query_tiles = tiles.query_tiles(), total = checked_mul(query_tiles, repeats);
  constexpr std::int64_t most_waves = std::int64_t{1} << 26;  // a second's work; more would look like a hang
  if (total / wave > most_waves)
    throw CountOverflow("a masked point may run in at most 2^26 waves of blocks; use a shorter q_len or larger tiles");
  // Intervals move right: the keys that consecutive query tiles see reach from the first one's start to the last one's
  // end.
  const TileRange live = tiles.live_queries();
  const auto keys_seen = [&](std::int64_t from, std::int64_t to) {
    from = std::max(from, live.first), to = std::min(to, live.end);
    return from < to ? TileRange{tiles.keys_of(from).first, tiles.keys_of(to - 1).end} : TileRange{};
  };
  std::int64_t loaded = 0;
  TileRange cached;
  for (std::int64_t first = 0; first < total; first += wave) {
    const std::int64_t start = first % query_tiles, count = std::min(wave, total - first);
    TileRange range = keys_seen(start, std::min(start + count, query_tiles));
    if (start + count > query_tiles) {  // the wave goes on with the next head that shares the keys
      const TileRange more = keys_seen(0, std::min(start + count - query_tiles, query_tiles));
      if (range.empty()) range = more;
      else if (!more.empty()) range = {std::min(range.first, more.first), std::max(range.end, more.end)};
    }
    if (range.empty()) continue;
    const TileRange overlap{std::max(range.first, cached.first), std::min(range.end, cached.end)};
    loaded = checked_add(loaded, tiles.keys(range) - tiles.keys(overlap));
    cached = static_cast<double>(tiles.keys(range)) <= capacity_keys ? range : TileRange{};
  }
  return loaded;
}

// Blocks that read a slice side by side, once, in one cache.
std::int64_t wave_of(const Reuse& reuse, const CacheState& cache, const Spread& spread) {
  const std::int64_t resident =
      std::clamp<std::int64_t>(cache.resident_blocks, 1, std::max<std::int64_t>(1, reuse.blocks / spread.of_slice));
  const std::int64_t inside = std::max<std::int64_t>(1, reuse.inside * spread.of_tile / spread.of_slice);
  return std::max<std::int64_t>(1, resident / inside);
}

bool stays(bool reused, const CacheState& cache, double working_set_bytes) {
  return !reused || working_set_bytes <= cache.capacity_bytes;
}

DramRead read_once(std::int64_t distinct, const Spread& spread) {
  return {checked_mul(distinct, spread.of_tile), spread.of_tile == 1};
}

// `once`: values of what shares the slice.
DramRead read_in_waves(std::int64_t once, const Reuse& reuse, const CacheState& cache, const Spread& spread) {
  return {checked_mul(checked_mul(once, spread.of_tile),
                      ceil_div(ceil_div(reuse.repeats, spread.of_tile), wave_of(reuse, cache, spread))),
          false};
}

}  // namespace

ReuseLoops reuse_loops(const Nest& nest, const Array& array) {
  ReuseLoops reuse;
  const int last = last_loop(nest, array.axes);
  const AxisBits axes = bits(array.axes);
  for (int i = 0; i <= last && reuse.first_loop < 0; ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    if (loop.trips > 1 && (axes & bit(loop.axis)) == 0) reuse.first_loop = i;
  }
  if (reuse.first_loop < 0) return reuse;
  for (const AxisId axis : array.axes) {
    int cut = -1;  // the loop outside that leaves least of the axis
    for (int i = 0; i < reuse.first_loop; ++i) {
      const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
      const std::int64_t extent = cut < 0 ? nest.size(axis) : nest.loops[static_cast<std::size_t>(cut)].tile;
      if (loop.axis == axis && loop.tile < extent) cut = i;
    }
    if (cut < 0) reuse.slice.sizes |= bit(axis);
    else reuse.slice.tiles |= LoopBits{1} << cut;
  }
  for (int i = reuse.first_loop; i < static_cast<int>(nest.loop_count); ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    const LoopBits own = LoopBits{1} << i;
    const bool moves = Nest::carries(axes, loop);
    if (loop.group) reuse.blocks.trips |= own, (moves ? reuse.inside : reuse.repeats).trips |= own;
    else reuse.sweeps = reuse.sweeps || (!moves && loop.trips > 1 && i < last);
  }
  return reuse;
}

Reuse reuse_of(const ReuseLoops& loops, const Nest& nest) {
  if (!loops.any()) return {};
  return {.any = true,
          .slice_values = loops.slice.of(nest),
          .blocks = loops.blocks.of(nest),
          .repeats = loops.repeats.of(nest),
          .inside = loops.inside.of(nest),
          .sweeps = loops.sweeps};
}

// Blocks whose numbers lie a stride apart come to as many places of a round of turns as the stride and the round leave.
Spread spread_of(const Nest& nest, const Array& array, std::int64_t caches, std::int64_t dealt) {
  Spread spread;
  if (caches == 1) return spread;
  const int first = reuse_loops(nest, array).first_loop;
  const std::int64_t round = checked_mul(caches, dealt);
  std::int64_t stride = 1;
  for (std::size_t i = nest.loop_count; i-- > 0;) {
    const BoundLoop& loop = nest.loops[i];
    if (!loop.group) continue;
    const std::int64_t met = std::min(
        {ceil_div(checked_mul(loop.trips, std::min(stride, dealt)), dealt), caches, round / std::gcd(stride, round)});
    if (!nest.carries(array.axes, loop.axis)) spread.of_tile = std::min(caches, spread.of_tile * met);
    if (first >= 0 && static_cast<int>(i) >= first) spread.of_slice = std::min(caches, spread.of_slice * met);
    stride = checked_mul(stride, loop.trips);
  }
  spread.of_slice = std::max(spread.of_slice, spread.of_tile);
  return spread;
}

DramRead plain_dram_read(const ReadForms& array, const Nest& nest, const CacheState& cache, const Spread& spread,
                         double working_set_bytes) {
  const std::int64_t distinct = array.distinct.of(nest);
  if (stays(array.reuse.any(), cache, working_set_bytes)) return read_once(distinct, spread);
  const Reuse reuse = reuse_of(array.reuse, nest);
  return read_in_waves(reuse.sweeps ? array.touched.of(nest) / reuse.repeats : distinct, reuse, cache, spread);
}

DramRead dram_read(const Nest& nest, const NestSums& live, const Array& array, const Reuse& reuse,
                   const CacheState& cache, const Spread& spread, double working_set_bytes,
                   double slice_bytes_all_arrays) {
  const std::int64_t distinct = distinct_values(nest, live, array.axes);
  if (stays(reuse.any, cache, working_set_bytes)) return read_once(distinct, spread);
  const bool over_queries = nest.guarded() && nest.mask->contiguous() && !array.has(nest.diagram->guard->query);
  const BoundLoop& queries = nest.loops[static_cast<std::size_t>(std::max(0, nest.query_loop))];
  if (over_queries && array.has(nest.diagram->guard->key) && queries.group) {
    const double capacity_keys =
        cache.capacity_bytes / slice_bytes_all_arrays * static_cast<double>(nest.size(nest.diagram->guard->key));
    const std::int64_t keys = keys_loaded_in_waves(
        nest, reuse.repeats / queries.trips, checked_mul(wave_of(reuse, cache, spread), spread.of_tile), capacity_keys);
    return {checked_mul(checked_mul(distinct / std::max<std::int64_t>(1, live.tiles.keys), keys), spread.of_tile),
            false};
  }
  const std::int64_t once = reuse.sweeps ? touched_values(nest, live, array.axes) / reuse.repeats : distinct;
  return read_in_waves(once, reuse, cache, spread);
}

}  // namespace tilescope
