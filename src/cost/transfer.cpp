#include "cost/transfer.h"

#include <algorithm>

#include "base/checked.h"

namespace tilescope {
namespace {

bool contains(Axes axes, AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

// Extent of a whole axis, rounded up to its tiles when asked.
std::int64_t extent(const Nest& nest, AxisId axis, bool whole_tiles) {
  const BoundLoop* loop = nest.loop_over(axis);
  return whole_tiles && loop ? checked_mul(loop->trips, loop->tile) : nest.size(axis);
}

// The guarded pair's share of a count: which sum over live tiles applies when the loops up to `last` repeat.
std::int64_t pair_factor(const Nest& nest, const LiveSums& live, bool has_query, bool has_key, int last) {
  const bool query_moves = nest.query_loop <= last, key_moves = nest.key_loop <= last;
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

// Sum over all combinations of the loops up to `last` of the tile's extent over `axes`.
std::int64_t repeated(const Nest& nest, const LiveSums& live, Axes axes, int last, bool whole_tiles) {
  std::int64_t count = 1;
  if (nest.guarded())
    count = pair_factor(nest, live, contains(axes, nest.diagram->guard->query), contains(axes, nest.diagram->guard->key), last);
  const auto in_pair = [&](int position) { return nest.guarded() && (position == nest.query_loop || position == nest.key_loop); };
  const auto guarded_axis = [&](AxisId axis) {
    return nest.guarded() && (axis == nest.diagram->guard->query || axis == nest.diagram->guard->key);
  };
  for (const AxisId axis : axes)
    if (!guarded_axis(axis)) count = checked_mul(count, extent(nest, axis, whole_tiles));
  for (int i = 0; i <= last; ++i)
    if (!in_pair(i) && !contains(axes, nest.loops[static_cast<std::size_t>(i)].axis))
      count = checked_mul(count, nest.loops[static_cast<std::size_t>(i)].trips);
  return count;
}

// Two streams over the guarded pair: when the outer one steps and the inner one restarts on the very tile it ended
// with, the array that only the inner loop indexes stays put. Values saved by that.
std::int64_t stationary_values(const Nest& nest, Axes array, int last, bool whole_tiles) {
  const int inner = std::max(nest.query_loop, nest.key_loop), outer = std::min(nest.query_loop, nest.key_loop);
  const BoundLoop& outer_loop = nest.loops[static_cast<std::size_t>(outer)];
  const BoundLoop& inner_loop = nest.loops[static_cast<std::size_t>(inner)];
  if (!nest.guarded() || outer_loop.group || last != inner || contains(array, outer_loop.axis) || !contains(array, inner_loop.axis))
    return 0;
  const LiveTiles tiles = nest.live_tiles();
  const bool inner_is_query = inner == nest.query_loop;
  std::int64_t saved = 0;
  std::int64_t previous_last = -1;
  for (std::int64_t step = 0; step < outer_loop.trips; ++step) {
    const TileRange range = inner_is_query ? tiles.queries_of(step) : tiles.keys_of(step);
    if (range.empty()) continue;
    if (range.first == previous_last) {
      const std::int64_t clipped = inner_is_query ? tiles.rows(range.first) : tiles.keys({range.first, range.first + 1});
      saved = checked_add(saved, whole_tiles ? inner_loop.tile : clipped);
    }
    previous_last = range.end - 1;
  }
  for (const AxisId axis : array)
    if (axis != inner_loop.axis) saved = checked_mul(saved, extent(nest, axis, whole_tiles));
  for (int i = 0; i < last; ++i)
    if (i != outer && !contains(array, nest.loops[static_cast<std::size_t>(i)].axis))
      saved = checked_mul(saved, nest.loops[static_cast<std::size_t>(i)].trips);
  return saved;
}

}  // namespace

int last_loop(const Nest& nest, Axes array, bool resident) {
  if (!resident) return static_cast<int>(nest.loop_count) - 1;
  int last = -1;
  for (int i = 0; i < static_cast<int>(nest.loop_count); ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    if (loop.trips > 1 && (loop.group || contains(array, loop.axis))) last = i;
  }
  return last;
}

std::int64_t touched_values(const Nest& nest, const LiveSums& live, Axes array, TouchOptions options) {
  const int last = last_loop(nest, array, options.resident);
  const std::int64_t values = repeated(nest, live, array, last, options.whole_tiles);
  return options.resident && nest.guarded() ? values - stationary_values(nest, array, last, options.whole_tiles) : values;
}

std::int64_t distinct_values(const Nest& nest, const LiveSums& live, Axes array, bool whole_tiles) {
  if (nest.guarded() && contains(array, nest.diagram->guard->query) && contains(array, nest.diagram->guard->key))
    return repeated(nest, live, array, static_cast<int>(nest.loop_count) - 1, whole_tiles);
  return repeated(nest, live, array, -1, whole_tiles);
}

std::int64_t visited_points(const Nest& nest, const LiveSums& live, Axes axes, bool whole_tiles) {
  return repeated(nest, live, axes, static_cast<int>(nest.loop_count) - 1, whole_tiles);
}

}  // namespace tilescope
