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

}  // namespace

Reuse reuse_of(const Nest& nest, const Array& array) {
  Reuse reuse;
  const int last = last_loop(nest, array.axes);
  const AxisBits axes = bits(array.axes);
  for (int i = 0; i <= last && reuse.first_loop < 0; ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    if (loop.trips > 1 && (axes & bit(loop.axis)) == 0) reuse.first_loop = i;
  }
  if (reuse.first_loop < 0) return reuse;
  reuse.slice_values = 1;
  for (const AxisId axis : array.axes) {
    std::int64_t extent = nest.size(axis);
    for (int i = 0; i < reuse.first_loop; ++i)
      if (nest.loops[static_cast<std::size_t>(i)].axis == axis)
        extent = std::min(extent, nest.loops[static_cast<std::size_t>(i)].tile);
    reuse.slice_values = checked_mul(reuse.slice_values, extent);
  }
  for (std::size_t i = static_cast<std::size_t>(reuse.first_loop); i < nest.loop_count; ++i)
    if (nest.loops[i].group) reuse.blocks = checked_mul(reuse.blocks, nest.loops[i].trips);
  return reuse;
}

// Blocks whose numbers lie a stride apart come to as many places of a round of turns as the stride and the round leave.
Spread spread_of(const Nest& nest, const Array& array, std::int64_t caches, std::int64_t dealt) {
  Spread spread;
  if (caches == 1) return spread;
  const int first = reuse_of(nest, array).first_loop;
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

DramRead dram_read(const Nest& nest, const NestSums& live, const Array& array, const CacheState& cache,
                   const Spread& spread, double working_set_bytes, double slice_bytes_all_arrays) {
  return dram_read(nest, live, array, reuse_of(nest, array), cache, spread, working_set_bytes, slice_bytes_all_arrays);
}

DramRead dram_read(const Nest& nest, const NestSums& live, const Array& array, const Reuse& reuse,
                   const CacheState& cache, const Spread& spread, double working_set_bytes,
                   double slice_bytes_all_arrays) {
  const std::int64_t distinct = distinct_values(nest, live, array.axes);
  if (reuse.first_loop < 0 || working_set_bytes <= cache.capacity_bytes)
    return {checked_mul(distinct, spread.of_tile), spread.of_tile == 1};
  const std::int64_t resident =
      std::clamp<std::int64_t>(cache.resident_blocks, 1, std::max<std::int64_t>(1, reuse.blocks / spread.of_slice));
  const AxisBits axes = bits(array.axes);
  std::int64_t repeats = 1, inside = 1;  // iterations that share the slice; blocks that sweep it once
  bool sweeps = false;                   // a block's streams come back to its part
  for (std::size_t i = static_cast<std::size_t>(reuse.first_loop); i < nest.loop_count; ++i) {
    const bool moves = Nest::carries(axes, nest.loops[i]);
    if (nest.loops[i].group) (moves ? inside : repeats) *= nest.loops[i].trips;
    else sweeps = sweeps || (!moves && nest.loops[i].trips > 1 && static_cast<int>(i) < last_loop(nest, array.axes));
  }
  inside = std::max<std::int64_t>(1, inside * spread.of_tile / spread.of_slice);  // that one cache reads
  const std::int64_t wave = std::max<std::int64_t>(1, resident / inside);
  const bool over_queries = nest.guarded() && nest.mask->contiguous() && !array.has(nest.diagram->guard->query);
  const BoundLoop& queries = nest.loops[static_cast<std::size_t>(std::max(0, nest.query_loop))];
  if (over_queries && array.has(nest.diagram->guard->key) && queries.group) {
    const std::int64_t query_tiles = queries.trips;
    const double capacity_keys =
        cache.capacity_bytes / slice_bytes_all_arrays * static_cast<double>(nest.size(nest.diagram->guard->key));
    const std::int64_t keys =
        keys_loaded_in_waves(nest, repeats / query_tiles, checked_mul(wave, spread.of_tile), capacity_keys);
    return {checked_mul(checked_mul(distinct / std::max<std::int64_t>(1, live.tiles.keys), keys), spread.of_tile),
            false};
  }
  const std::int64_t once = sweeps ? touched_values(nest, live, array.axes) / repeats : distinct;  // of what shares it
  return {checked_mul(checked_mul(once, spread.of_tile), ceil_div(ceil_div(repeats, spread.of_tile), wave)), false};
}

}  // namespace tilescope
