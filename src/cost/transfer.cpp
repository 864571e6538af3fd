#include "cost/transfer.h"

#include <algorithm>

#include "base/checked.h"
#include "cost/plain_count.h"

namespace tilescope {
namespace {

inline bool has(Axes axes, AxisId wanted) { return (bits(axes) & bit(wanted)) != 0; }

// Whether the array moves with the loop (Nest::carries).
inline bool carried(Axes array, const BoundLoop& loop) { return Nest::carries(bits(array), loop); }

// Extent of a whole axis, rounded up to its tiles when asked.
std::int64_t extent(const Nest& nest, AxisId axis, bool whole_tiles) {
  if (!whole_tiles) return nest.size(axis);
  const BoundLoop* loop = nest.loop_over(axis);
  if (!loop) return nest.size(axis);
  return checked_mul(nest.chunked.present() && nest.chunked.of == axis ? nest.chunked.tiles() : loop->trips,
                     loop->tile);
}

// The guarded pair's share of a count: which sum over live tiles applies when the loops up to `last` repeat. Where the
// keys are split and their tiles do not move, a chunk takes the part of the key tile.
std::int64_t pair_factor(const Nest& nest, const NestSums& sums, bool has_query, bool has_key, int last) {
  const bool tiles_move = nest.key_loop <= last && nest.loops[static_cast<std::size_t>(nest.key_loop)].trips > 1;
  const bool by_chunk = nest.keys_are_chunked() && !tiles_move;
  const LiveSums& live = by_chunk ? sums.chunks : sums.tiles;
  const bool query_moves = nest.query_loop <= last, key_moves = (by_chunk ? nest.chunked.outer : nest.key_loop) <= last;
  if (query_moves && key_moves) {
    if (has_query && has_key) return live.area;
    return has_query ? live.rows_pairs : has_key ? live.keys_pairs : live.pairs;
  }
  // A guarded axis inside `last` that the array has is cut into one tile: it is taken whole.
  if (query_moves) {
    const std::int64_t once = has_query ? live.rows : live.query_tiles;
    return has_key ? checked_mul(once, live.keys) : once;
  }
  if (key_moves) {
    const std::int64_t once = has_key ? live.keys : live.key_tiles;
    return has_query ? checked_mul(once, live.rows) : once;
  }
  const std::int64_t rows = has_query ? live.rows : 1, keys = has_key ? live.keys : 1;
  return live.pairs == 0 ? 0 : checked_mul(rows, keys);
}

// Trips of loop `i`, which the array does not carry. Tiles within chunks are counted together with the chunks.
std::int64_t repeats(const Nest& nest, int i, int last) {
  const Chunked& cut = nest.chunked;
  if (cut.present() && i == cut.outer && cut.inner <= last) return cut.tiles();
  if (cut.present() && i == cut.inner && cut.outer <= last) return 1;
  return nest.loops[static_cast<std::size_t>(i)].trips;
}

// Sum over all combinations of the loops up to `last` of the tile's extent over `axes`; of a nest that is not plain.
std::int64_t repeated(const Nest& nest, const NestSums& live, Axes axes, int last, bool whole_tiles) {
  const AxisBits array = bits(axes);
  std::int64_t count = 1;
  const bool split_keys = nest.keys_are_chunked();
  if (nest.guarded())
    count = pair_factor(nest, live, has(axes, nest.diagram->guard->query), has(axes, nest.diagram->guard->key), last);
  const auto in_pair = [&](int i) {
    return nest.guarded() && (i == nest.query_loop || i == nest.key_loop || (split_keys && i == nest.chunked.outer));
  };
  const auto guarded_axis = [&](AxisId axis) {
    if (!nest.guarded()) return false;
    if (split_keys && axis == nest.loops[static_cast<std::size_t>(nest.chunked.outer)].axis &&
        nest.chunked.outer <= last)
      return true;
    return axis == nest.diagram->guard->query || axis == nest.diagram->guard->key;
  };
  const auto chunk_axis = [&](AxisId axis) {
    return nest.chunked.present() && axis == nest.loops[static_cast<std::size_t>(nest.chunked.outer)].axis;
  };
  for (const AxisId axis : axes)
    if (!guarded_axis(axis))
      count = checked_mul(count, chunk_axis(axis) && nest.chunked.inner <= last ? nest.chunked.tiles()
                                                                                : extent(nest, axis, whole_tiles));
  for (int i = 0; i <= last; ++i)
    if (!in_pair(i) && !Nest::carries(array, nest.loops[static_cast<std::size_t>(i)]))
      count = checked_mul(count, repeats(nest, i, last));
  return count;
}

// How often the streams of a nest come back to an array's tile without another of its tiles in between.
struct Restarts {
  std::int64_t within = 1;    // sweeps of the inner guarded loop a step of the outer one
  std::int64_t around = 1;    // consecutive sweeps of the guarded pair
  std::int64_t separate = 1;  // sweeps of the pair with another tile, or in another block
  bool moves = false;         // a loop in between moves the tile
};

Restarts restarts(const Nest& nest, Axes array, int outer, int inner) {
  Restarts count;
  for (int i = 0; i < inner; ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    if (i == outer || loop.trips == 1 || (nest.keys_are_chunked() && i == nest.chunked.outer)) continue;
    const bool moved = carried(array, loop);
    if (i > outer && loop.group) count.separate = checked_mul(count.separate, moved ? 1 : loop.trips);
    else if (i > outer && moved)
      count.separate = checked_mul(count.separate, count.within), count.within = 1, count.moves = true;
    else if (i > outer) count.within = checked_mul(count.within, loop.trips);
    else if (loop.group || moved)
      count.separate = checked_mul(count.separate, checked_mul(count.around, moved ? 1 : loop.trips)), count.around = 1;
    else count.around = checked_mul(count.around, loop.trips);
  }
  return count;
}

// Where both ends of the ranges only move right: a step from `step` on, up to which all ranges after that of `step`
// have several tiles and begin before the tile that the range before them ends with. `step` itself where there is none.
std::int64_t last_without_return(const auto& range_at, std::int64_t step, std::int64_t steps) {
  const std::int64_t ends_with = range_at(step).end - 1;
  const auto before = [&](std::int64_t at) {
    const TileRange range = range_at(at);
    return !range.empty() && range.first < ends_with && range.end - 1 >= ends_with;
  };
  std::int64_t reach = 1;
  while (step + reach < steps && before(step + reach)) step += reach, reach *= 2;
  for (; reach > 0; reach /= 2)
    if (step + reach < steps && before(step + reach)) step += reach;
  return step;
}

// The first step of the outer loop that can have live tiles: where both ends of the ranges only move right, that of the
// first step of the inner loop, unless that has none.
std::int64_t first_live(const LiveTiles& tiles, bool inner_is_query, bool contiguous) {
  if (!contiguous || tiles.query_tiles() == 0 || tiles.key_tiles() == 0) return 0;
  const TileRange across = inner_is_query ? tiles.keys_of(0) : tiles.queries_of(0);
  return across.empty() ? 0 : across.first;
}

// Two streams over the guarded pair: when the outer one steps and the inner one restarts on the very tile it ended
// with, the array that only the inner loop indexes stays put. Values saved by that.
std::int64_t kept_values(const Nest& nest, Axes array, int last, bool whole_tiles) {
  const int inner = std::max(nest.query_loop, nest.key_loop), outer = std::min(nest.query_loop, nest.key_loop);
  const BoundLoop& outer_loop = nest.loops[static_cast<std::size_t>(outer)];
  const BoundLoop& inner_loop = nest.loops[static_cast<std::size_t>(inner)];
  if (last != inner || !carried(array, inner_loop)) return 0;
  const Restarts sweeps = restarts(nest, array, outer, inner);
  // Where each step of the outer loop begins with another tile, the array stays put only within a step.
  const bool moved = outer_loop.group || carried(array, outer_loop) || sweeps.moves;
  if (moved && sweeps.within == 1) return 0;
  const bool has_outer = has(array, outer_loop.axis);
  const std::int64_t chunks = nest.keys_are_chunked() ? nest.chunked.chunks() : 1;
  const bool inner_is_query = inner == nest.query_loop;
  std::int64_t saved = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const LiveTiles tiles = nest.keys_are_chunked() ? nest.live_tiles_of_chunk(chunk) : nest.live_tiles();
    const auto extent_of = [&](std::int64_t tile) {
      return whole_tiles ? inner_loop.tile : inner_is_query ? tiles.rows(tile) : tiles.keys({tile, tile + 1});
    };
    const std::int64_t steps = inner_is_query ? tiles.key_tiles() : tiles.query_tiles();
    const auto range_at = [&](std::int64_t step) {
      return inner_is_query ? tiles.queries_of(step) : tiles.keys_of(step);
    };
    std::int64_t first = -1, previous = -1;
    for (std::int64_t step = first_live(tiles, inner_is_query, nest.mask->contiguous()); step < steps; ++step) {
      const TileRange range = range_at(step);
      if (range.empty()) continue;
      const std::int64_t again = (range.count() == 1 ? sweeps.within - 1 : 0) * sweeps.around +
                                 (range.first == previous && !moved ? sweeps.around : 0);
      const std::int64_t wide = !has_outer       ? 1
                                : whole_tiles    ? outer_loop.tile
                                : inner_is_query ? tiles.keys({step, step + 1})
                                                 : tiles.rows(step);
      if (again > 0) saved = checked_add(saved, checked_mul(again, checked_mul(wide, extent_of(range.first))));
      if (first < 0) first = range.first;
      if (nest.mask->contiguous()) step = last_without_return(range_at, step, steps);
      previous = range_at(step).end - 1;
    }
    if (!moved && first >= 0 && first == previous)
      saved = checked_add(saved, checked_mul(sweeps.around - 1, extent_of(first)));
  }
  for (const AxisId axis : array)
    if (axis != inner_loop.axis && axis != outer_loop.axis) saved = checked_mul(saved, extent(nest, axis, whole_tiles));
  return checked_mul(saved, sweeps.separate);
}

bool moves(const Nest& nest, AxisBits array, int position) {
  const BoundLoop& loop = nest.loops[static_cast<std::size_t>(position)];
  return loop.trips > 1 && (loop.group || Nest::carries(array, loop));
}

int last_moving(const Nest& nest, AxisBits array, bool resident) {
  int last = static_cast<int>(nest.loop_count) - 1;
  while (resident && last >= 0 && !moves(nest, array, last)) --last;
  return last;
}

// Whether the guarded pair of loops has one live tile as far as the array and the blocks are concerned: then it does
// not move the array's tile.
bool pair_stands_still(const Nest& nest, const NestSums& live, Axes array) {
  if (!nest.guarded()) return false;
  const auto matters = [&](int position) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(position)];
    return loop.group || carried(array, loop);
  };
  const bool by_query = matters(nest.query_loop), by_key = matters(nest.key_loop);
  return 1 == (by_query && by_key ? live.tiles.pairs
               : by_query         ? live.tiles.query_tiles
               : by_key           ? live.tiles.key_tiles
                                  : 0);
}

// Whether a stream around the guarded pair comes back to the array's tile where a part of the keys has a single live
// one, or in the last part of another axis less often than in the others.
bool parts_may_stand_still(const Nest& nest, Axes array) {
  if (!nest.guarded() || !nest.chunked.present()) return false;
  for (int i = 0; i < static_cast<int>(nest.loop_count); ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    if (loop.group || i == nest.query_loop || i == nest.key_loop || carried(array, loop)) continue;
    if (i < std::max(nest.query_loop, nest.key_loop)) return true;
  }
  return false;
}

// Of a nest that is not plain.
std::int64_t touched_in_parts(const Nest& nest, const NestSums& live, Axes array, TouchOptions options) {
  if (options.resident && parts_may_stand_still(nest, array)) {
    const auto of_part = [&](std::int64_t chunk) {
      const Nest part = nest.part_of(chunk);
      return touched_values(part, sums_of(part, options.whole_tiles), array, options);
    };
    const std::int64_t last = nest.chunked.chunks() - 1;
    std::int64_t values = of_part(last);
    if (!nest.keys_are_chunked()) return last > 0 ? checked_add(values, checked_mul(last, of_part(0))) : values;
    for (std::int64_t chunk = 0; chunk < last; ++chunk) values = checked_add(values, of_part(chunk));
    return values;
  }
  if (options.resident && pair_stands_still(nest, live, array)) {
    int last = -1;
    for (int i = 0; i < static_cast<int>(nest.loop_count); ++i)
      if (i != nest.query_loop && i != nest.key_loop && moves(nest, bits(array), i)) last = i;
    return repeated(nest, live, array, last, options.whole_tiles);
  }
  const int last = last_moving(nest, bits(array), options.resident);
  const std::int64_t values = repeated(nest, live, array, last, options.whole_tiles);
  return options.resident && nest.guarded() ? values - kept_values(nest, array, last, options.whole_tiles) : values;
}

}  // namespace

int last_loop(const Nest& nest, Axes array, bool resident) { return last_moving(nest, bits(array), resident); }

std::int64_t live_extent(const Nest& nest, const NestSums& live, Axes array) {
  return pair_factor(nest, live, has(array, nest.diagram->guard->query), has(array, nest.diagram->guard->key),
                     last_loop(nest, array));
}

std::int64_t stationary_values(const Nest& nest, Axes array, bool whole_tiles) {
  return kept_values(nest, array, last_loop(nest, array), whole_tiles);
}

std::int64_t touched_values(const Nest& nest, const NestSums& live, Axes array, TouchOptions options) {
  if (!plain(nest)) return touched_in_parts(nest, live, array, options);
  const AxisBits axes = bits(array);
  return plain_repeated(nest, axes, last_moving(nest, axes, options.resident), options.whole_tiles);
}

StoreCounts stored_values(const Nest& nest, const NestSums& live, Axes array, const Stored& how) {
  const std::int64_t visits = touched_values(nest, live, array);
  if (!how.zeroed) return {.stored = visits, .loaded = visits - distinct_values(nest, live, array)};
  return {.stored = visits, .loaded = how.by == Accumulate::reduction ? 0 : visits, .zeros = nest.values(array)};
}

std::int64_t distinct_values(const Nest& nest, const NestSums& live, Axes array, bool whole_tiles) {
  if (plain(nest)) return plain_repeated(nest, bits(array), -1, whole_tiles);
  if (!nest.guarded()) return repeated(nest, live, array, -1, whole_tiles);
  const bool query = has(array, nest.diagram->guard->query), key = has(array, nest.diagram->guard->key);
  const auto chunk_of_keys = [&](AxisId axis) {
    return nest.keys_are_chunked() && axis == nest.loops[static_cast<std::size_t>(nest.chunked.outer)].axis;
  };
  const bool by_chunk = std::any_of(array.begin(), array.end(), chunk_of_keys);
  if (!(query && (key || by_chunk))) return repeated(nest, live, array, -1, whole_tiles);
  std::int64_t count = key ? live.tiles.area : live.chunks.rows_pairs;
  for (const AxisId axis : array)
    if (axis != nest.diagram->guard->query && axis != nest.diagram->guard->key && !chunk_of_keys(axis))
      count = checked_mul(count, extent(nest, axis, whole_tiles));
  return count;
}

std::int64_t visited_points(const Nest& nest, const NestSums& live, Axes axes, bool whole_tiles) {
  const int last = static_cast<int>(nest.loop_count) - 1;
  if (plain(nest)) return plain_repeated(nest, bits(axes), last, whole_tiles);
  return repeated(nest, live, axes, last, whole_tiles);
}

}  // namespace tilescope
