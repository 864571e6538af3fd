#include "cost/nest.h"

#include <algorithm>
#include <stdexcept>

namespace tilescope {
namespace {

// Arrays with one of these axes move with the axis: itself, and the one whose chunks it counts.
AxisBits moved_by(const Diagram& diagram, AxisId axis) {
  const auto& chunks_of = diagram.axes[index(axis)].chunks_of;
  return bit(axis) | (chunks_of ? bit(*chunks_of) : 0);
}

// A loop over chunks and one over tiles of the same axis: the inner one runs within a chunk.
void bind_chunks(const Schedule& schedule, std::span<const std::int64_t> tiles, Nest& nest) {
  for (const Chunking& cut : schedule.chunks)
    for (int i = 0; i < static_cast<int>(nest.loop_count); ++i)
      for (int j = i + 1; j < static_cast<int>(nest.loop_count); ++j) {
        BoundLoop& inner = nest.loops[static_cast<std::size_t>(j)];
        if (nest.loops[static_cast<std::size_t>(i)].axis != cut.axis || inner.axis != cut.of) continue;
        const std::int64_t size = nest.size(cut.of), length = std::min(size, cut.length_in(size, tiles));
        inner.trips = ceil_div(length, inner.tile);
        nest.chunked = {.outer = i, .inner = j, .of = cut.of, .length = length, .tile = inner.tile, .size = size};
      }
}

}  // namespace

const BoundLoop* Nest::loop_over(AxisId axis) const {
  for (const BoundLoop& loop : all())
    if (loop.axis == axis) return &loop;
  return nullptr;
}

std::int64_t Nest::values(std::span<const AxisId> array) const {
  std::int64_t count = 1;
  for (const AxisId axis : array) count = checked_mul(count, size(axis));
  return count;
}

void Nest::find_guarded_pair() {
  query_loop = key_loop = -1;
  for (int i = 0; diagram->guard && i < static_cast<int>(loop_count); ++i) {
    const AxisId axis = loops[static_cast<std::size_t>(i)].axis;
    if (axis == diagram->guard->query) query_loop = i;
    if (axis == diagram->guard->key) key_loop = i;
  }
}

std::int64_t Nest::blocks() const {
  std::int64_t count = 1;
  for (const BoundLoop& loop : all()) count = loop.group ? checked_mul(count, loop.trips) : count;
  return count;
}

LiveTiles Nest::live_tiles() const {
  const BoundLoop& query = loops[static_cast<std::size_t>(query_loop)];
  const BoundLoop& key = loops[static_cast<std::size_t>(key_loop)];
  if (keys_in_all > 0) return LiveTiles(*mask, query.size, keys_in_all, query.tile, key.tile, first_key, key.size);
  return LiveTiles(*mask, query.size, key.size, query.tile, key.tile);
}

Nest Nest::part_of(std::int64_t chunk) const {
  Nest part = *this;
  part.chunked = {};
  BoundLoop &outer = part.loops[static_cast<std::size_t>(chunked.outer)],
            &inner = part.loops[static_cast<std::size_t>(chunked.inner)];
  part.sizes[index(outer.axis)] = outer.size = outer.tile = outer.trips = 1;
  part.sizes[index(inner.axis)] = inner.size = chunked.length_of(chunk);
  inner.trips = ceil_div(inner.size, inner.tile);
  if (keys_are_chunked()) part.first_key = chunk * chunked.length, part.keys_in_all = chunked.size;
  return part;
}

LiveTiles Nest::live_tiles_of_chunk(std::int64_t chunk) const {
  const BoundLoop& query = loops[static_cast<std::size_t>(query_loop)];
  const BoundLoop& key = loops[static_cast<std::size_t>(key_loop)];
  return LiveTiles(*mask, query.size, key.size, query.tile, key.tile, chunk * chunked.length, chunked.length_of(chunk));
}

bool Nest::carries(std::span<const AxisId> array, AxisId axis) const {
  return (bits(array) & moved_by(*diagram, axis)) != 0;
}

NestSums sums_of(const Nest& nest, bool whole_tiles) {
  NestSums sums;
  if (!nest.guarded()) return sums;
  if (!nest.keys_are_chunked()) {
    sums.tiles = nest.live_tiles().sums(whole_tiles);
    return sums;
  }
  LiveSums& total = sums.tiles;
  for (std::int64_t chunk = 0; chunk < nest.chunked.chunks(); ++chunk) {
    const LiveSums part = nest.live_tiles_of_chunk(chunk).sums(whole_tiles);
    total.pairs = checked_add(total.pairs, part.pairs);
    total.rows_pairs = checked_add(total.rows_pairs, part.rows_pairs);
    total.keys_pairs = checked_add(total.keys_pairs, part.keys_pairs);
    total.area = checked_add(total.area, part.area);
    total.key_tiles = checked_add(total.key_tiles, part.key_tiles);
    total.keys = checked_add(total.keys, part.keys);
    // By (query tile, chunk): what is moved once a chunk. Keys of a chunk: those of its live tiles.
    sums.chunks.pairs = checked_add(sums.chunks.pairs, part.query_tiles);
    sums.chunks.rows_pairs = checked_add(sums.chunks.rows_pairs, part.rows);
    sums.chunks.key_tiles += part.pairs > 0;
    sums.chunks.keys = checked_add(sums.chunks.keys, part.keys);
    sums.chunks.keys_pairs = checked_add(sums.chunks.keys_pairs, part.keys_pairs);
    sums.chunks.area = checked_add(sums.chunks.area, part.area);
  }
  const BoundLoop& query = nest.loops[static_cast<std::size_t>(nest.query_loop)];
  const LiveSums whole =
      LiveTiles(*nest.mask, query.size, nest.chunked.size, query.tile, nest.chunked.tile).sums(whole_tiles);
  total.query_tiles = sums.chunks.query_tiles = whole.query_tiles;
  total.rows = sums.chunks.rows = whole.rows;
  return sums;
}

Nest bind_nest(const Schedule& schedule, const Island& island, const Workload& workload, const Mask& mask,
               std::span<const std::int64_t> tiles) {
  const Diagram& diagram = schedule.diagram;
  if (island.loops.size() > max_loops || diagram.axes.size() > max_axes)
    throw std::length_error("an island may have at most 16 loops and a diagram at most 16 axes");
  Nest nest;
  nest.diagram = &diagram;
  nest.mask = &mask;
  for (std::size_t i = 0, count = diagram.axes.size(); i < count; ++i) {
    const Axis& axis = diagram.axes[i];
    nest.sizes[i] = axis.extent && axis.per == 1 ? workload.size(*axis.extent) : axis.size_in(workload);  // no division
  }
  for (const Chunking& cut : schedule.chunks)
    nest.sizes[index(cut.axis)] = ceil_div(nest.size(cut.of), cut.length_in(nest.size(cut.of), tiles));
  for (const Loop& loop : island.loops) {
    const std::int64_t size = nest.size(loop.axis), tile = loop.tile.value(size, tiles);
    nest.loops[nest.loop_count++] = {.axis = loop.axis,
                                     .group = loop.partition == Partition::group,
                                     .size = size,
                                     .tile = tile,
                                     .trips = ceil_div(size, tile),
                                     .moves = moved_by(diagram, loop.axis)};
  }
  nest.find_guarded_pair();
  bind_chunks(schedule, tiles, nest);
  const bool both = nest.query_loop >= 0 && nest.key_loop >= 0;
  const bool queries_are_chunked = both && nest.chunked.present() && nest.chunked.inner == nest.query_loop;
  if (!both || queries_are_chunked || !island.skips_masked_tiles || !mask.masks()) nest.query_loop = nest.key_loop = -1;
  return nest;
}

}  // namespace tilescope
