#include "predict/l2_tiles.h"

#include <algorithm>

namespace tilescope {
namespace {

// How many tiles an axis of the nest has, and how far each loop moves along them.
struct Cut {
  std::int64_t tiles = 1, tile = 0;
  int outer = -1, inner = -1;  // loops; outer: over chunks
};

Cut cut_of(const Nest& nest, AxisId axis) {
  Cut cut{.tiles = 1, .tile = nest.size(axis), .outer = -1, .inner = -1};
  for (std::size_t i = 0; i < nest.loop_count; ++i)
    if (nest.loops[i].axis == axis)
      cut.inner = static_cast<int>(i), cut.tiles = nest.loops[i].trips, cut.tile = nest.loops[i].tile;
  if (nest.chunked.present() && nest.chunked.of == axis)
    cut.outer = nest.chunked.outer, cut.tiles *= nest.chunked.chunks();
  return cut;
}

// Elements of tile `number` along the axis; 0 past the end of a short chunk.
std::int64_t extent(const Nest& nest, AxisId axis, const Cut& cut, std::int64_t number) {
  if (cut.outer < 0) return std::min(cut.tile, nest.size(axis) - number * cut.tile);
  const std::int64_t per_chunk = cut.tiles / nest.chunked.chunks();
  return std::clamp<std::int64_t>(nest.chunked.length_of(number / per_chunk) - number % per_chunk * cut.tile, 0,
                                  cut.tile);
}

// Appends the bytes of all tiles of an array, the last axis fastest.
void list_bytes(const BoundIsland& bound, ArrayId id, std::int64_t tiles, std::vector<std::int64_t>& bytes) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const std::vector<AxisId>& axes = diagram.array(id).axes;
  std::vector<Cut> cuts;
  for (const AxisId axis : axes) cuts.push_back(cut_of(bound.nest, axis));
  std::int64_t values_before = -1, bytes_before = 0;
  for (std::int64_t number = 0; number < tiles; ++number) {
    std::int64_t values = 1, rest = number;
    for (std::size_t a = axes.size(); a-- > 0;) {
      values = checked_mul(values, extent(bound.nest, axes[a], cuts[a], rest % cuts[a].tiles));
      rest /= cuts[a].tiles;
    }
    if (values != values_before)
      values_before = values, bytes_before = padded_bytes_of(bound.point, diagram, id, values);
    bytes.push_back(bytes_before);
  }
}

TileStream::Kind kind_of_store(const BoundIsland& bound, ArrayId id) {
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  const Visits found = visits_of(bound, id);
  if (found.visits == found.distinct && !how.zeroed) return TileStream::Kind::store;
  return how.by == Accumulate::rewriting ? TileStream::Kind::update : TileStream::Kind::add;
}

bool together(const TileStream& a, const TileStream& b) {
  return a.kind == b.kind && a.every_step == b.every_step && a.zeroed == b.zeroed && a.stride == b.stride;
}

// False: the tiles cannot be numbered.
bool number_tiles(const BoundIsland& bound, ArrayId id, TileStream& stream, std::int64_t& tiles) {
  const Nest& nest = bound.nest;
  const std::vector<AxisId>& axes = bound.plan.schedule.diagram.array(id).axes;
  tiles = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    const Cut cut = cut_of(nest, axes[a]);
    for (const BoundLoop& loop : nest.all())  // chunks of an axis that no inner loop walks
      if (bound.plan.schedule.diagram.axes[index(loop.axis)].chunks_of == axes[a] && cut.outer < 0) return false;
    if (cut.inner >= 0)
      stream.stride[static_cast<std::size_t>(cut.inner)] =
          nest.loops[static_cast<std::size_t>(cut.inner)].trips > 1 ? tiles : 0;
    if (cut.outer >= 0)
      stream.stride[static_cast<std::size_t>(cut.outer)] = checked_mul(tiles, cut.tiles / nest.chunked.chunks());
    tiles = checked_mul(tiles, cut.tiles);
    if (tiles > most_tiles) return false;
  }
  return true;
}

}  // namespace

bool tile_streams(const BoundIsland& bound, TileStreams& out) {
  out.list.clear(), out.bytes.clear();
  const std::size_t arrays = bound.plan.schedule.diagram.arrays.size();
  std::vector<std::int64_t> bytes;
  for (std::size_t i = 0; i < arrays; ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const bool loaded = loads(bound, id), stored = stores(bound, id);
    if (!loaded && !stored) continue;
    TileStream stream;
    if (stored)
      stream.kind = kind_of_store(bound, id), stream.zeroed = bound.plan.schedule.how_stored(bound.island, id).zeroed;
    else stream.every_step = fetched_every_step(bound, id);
    std::int64_t tiles = 1;
    if (!number_tiles(bound, id, stream, tiles)) return false;
    bytes.clear();
    list_bytes(bound, id, tiles, bytes);
    stream.share[i] = bytes.front();
    const auto same = std::find_if(out.list.begin(), out.list.end(),
                                   [&](const TileStream& other) { return together(stream, other); });
    if (same != out.list.end()) {
      same->share[i] = bytes.front();
      for (std::size_t t = 0; t < bytes.size(); ++t) out.bytes[static_cast<std::size_t>(same->first) + t] += bytes[t];
      continue;
    }
    if (static_cast<std::int64_t>(out.bytes.size()) + tiles > most_tiles) return false;
    stream.first = static_cast<int>(out.bytes.size());
    out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
    out.list.push_back(stream);
  }
  return true;
}

}  // namespace tilescope
