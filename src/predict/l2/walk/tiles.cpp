#include "predict/l2/walk/tiles.h"

#include <algorithm>

#include "predict/traffic/array_layout.h"

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
  std::vector<std::vector<std::int64_t>> extents(axes.size());  // by axis and tile
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const Cut cut = cut_of(bound.nest, axes[a]);
    for (std::int64_t tile = 0; tile < cut.tiles; ++tile) extents[a].push_back(extent(bound.nest, axes[a], cut, tile));
  }
  bytes.reserve(bytes.size() + static_cast<std::size_t>(tiles));
  std::int64_t values_before = -1, bytes_before = 0;
  const auto list = [&](const auto& self, std::size_t axis, std::int64_t outer) -> void {
    if (axis < axes.size()) {
      for (const std::int64_t each : extents[axis]) self(self, axis + 1, checked_mul(outer, each));
      return;
    }
    if (outer != values_before) values_before = outer, bytes_before = padded_bytes_of(bound.point, diagram, id, outer);
    bytes.push_back(bytes_before);
  };
  list(list, 0, 1);
}

TileStream::Kind kind_of_store(const BoundIsland& bound, ArrayId id) {
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  const Visits found = visits_of(bound, id);
  if ((found.visits == found.distinct || bound.computed_again(id)) && !how.zeroed) return TileStream::Kind::store;
  return how.by == Accumulate::rewriting ? TileStream::Kind::update : TileStream::Kind::add;
}

// Its tiles are loaded, or stored, once each.
bool visited_once(const BoundIsland& bound, ArrayId id, const TileStream& stream) {
  const bool adds = stream.kind == TileStream::Kind::update || stream.kind == TileStream::Kind::add;
  const Visits found = visits_of(bound, id);
  return !adds && found.visits == found.distinct && !bound.computed_again(id);
}

bool move_together(const TileStream& a, const TileStream& b) {
  return a.kind == b.kind && a.every_step == b.every_step && a.zeroed == b.zeroed && a.stride == b.stride &&
         a.awaited == b.awaited;
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

// The rows of a tile of an array whose heads' rows do not lie one behind the other.
struct TileRows {
  std::int64_t address = 0, rows = 0;  // address: of the first row, from the start of the tensor
};

// Of all tiles of the array, as `list_bytes` numbers them; empty: a tile has more than rows of one head.
std::vector<TileRows> rows_of_tiles(const BoundIsland& bound, ArrayId id, const RowPlaces& places, std::size_t tiles) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const std::vector<AxisId>& axes = diagram.array(id).axes;
  std::vector<TileRows> list(tiles);
  for (std::size_t number = 0; number < tiles; ++number) {
    auto rest = static_cast<std::int64_t>(number);
    std::int64_t heads = 1;  // of the array, of those axes that were seen
    TileRows& tile = list[number];
    for (std::size_t a = axes.size(); a-- > 0;) {
      const Cut cut = cut_of(bound.nest, axes[a]);
      const std::int64_t size = bound.nest.size(axes[a]), at = rest % cut.tiles;
      const Extent of = *diagram.axes[index(axes[a])].extent;
      const bool rows = of == Extent::q_len || of == Extent::kv_len, dim = of == Extent::d_qk || of == Extent::d_v;
      rest /= cut.tiles;
      if (cut.outer >= 0 || (dim && cut.tiles > 1) || (!dim && !rows && cut.tiles < size)) return {};
      if (rows) tile.rows = extent(bound.nest, axes[a], cut, at), tile.address += at * cut.tile * places.step;
      else if (of == Extent::batch) tile.address += at * places.entry_step;
      else if (!dim) tile.address += at * heads * places.head_step, heads *= size;
    }
    tile.address += places.first;
  }
  return list;
}

// An array in memory.
struct PlacedArray {
  std::int64_t next = 0;  // address of its next tile, or of its tensor
  RowPlaces places{};
  std::vector<TileRows> tiles;  // empty: tiles are contiguous
};

// A tile's pieces: one, or, of rows that lie apart, those of neighbouring rows.
void add_pieces(PlacedArray& array, std::size_t tile, std::int64_t bytes, std::vector<CachePiece>& pieces) {
  constexpr std::int64_t most_pieces = 8;
  if (array.tiles.empty()) {
    pieces.push_back({array.next, bytes});
    array.next += bytes;
    return;
  }
  const TileRows& rows = array.tiles[tile];
  const std::int64_t a_piece = ceil_div(std::max<std::int64_t>(1, rows.rows), most_pieces);
  std::int64_t row = 0;
  do {
    const std::int64_t next = std::min(row + a_piece, rows.rows);
    const std::int64_t from = rows.rows == 0 ? 0 : bytes * row / rows.rows;
    const std::int64_t end = rows.rows == 0 ? bytes : bytes * next / rows.rows;
    pieces.push_back({array.next + rows.address + row * array.places.step, end - from});
    row = next;
  } while (row < rows.rows);
}

}  // namespace

bool tile_streams(const BoundIsland& bound, TileStreams& out) {
  out = {};
  const std::size_t arrays = bound.plan.schedule.diagram.arrays.size();
  for (std::size_t i = 0; i < arrays; ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const bool loaded = loads(bound, id), stored = stores(bound, id);
    if (!loaded && !stored) continue;
    TileStream stream;
    if (stored)
      stream.kind = kind_of_store(bound, id), stream.zeroed = bound.plan.schedule.how_stored(bound.island, id).zeroed;
    else stream.every_step = fetched_every_step(bound, id);
    stream.awaited = bound.awaited(id);
    out.each_once = out.each_once && visited_once(bound, id, stream);
    std::int64_t tiles = 1;
    if (!number_tiles(bound, id, stream, tiles)) return false;
    const auto same = std::find_if(out.list.begin(), out.list.end(),
                                   [&](const TileStream& other) { return move_together(stream, other); });
    if (same != out.list.end()) {
      same->tiles[i] = tiles;
      continue;
    }
    if (out.entries + tiles > most_tiles) return false;
    stream.tiles[i] = tiles;
    stream.first = static_cast<int>(out.entries);
    out.entries += tiles;
    out.list.push_back(stream);
  }
  return true;
}

// Arrays lie one behind the other, each from a page's start; inputs that lie side by side in the rows of one tensor
// share its start. The tiles of one are contiguous and follow one another as the array's rows do, where a tile takes
// its last axis whole, or lie as the kernel's layout says.
void place_tiles(const BoundIsland& bound, TileStreams& out) {
  constexpr std::int64_t page = 2 << 20;
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto& layout = bound.plan.kernel.layout;
  const bool packed = std::find(layout.begin(), layout.end(), LayoutDimension::arrays) != layout.end();
  std::vector<PlacedArray> arrays(diagram.arrays.size());
  std::vector<std::vector<std::int64_t>> bytes(arrays.size());  // by array and tile
  std::int64_t free = 0, tensor = -1;                           // tensor: address of that of the inputs
  std::size_t pieces = 0;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const auto id = static_cast<ArrayId>(static_cast<int>(a));
    PlacedArray& array = arrays[a];
    for (TileStream& stream : out.list)
      if (stream.tiles[a] > 0) {
        list_bytes(bound, id, stream.tiles[a], bytes[a]);
        stream.share[a] = bytes[a].front();
      }
    pieces += bytes[a].size();
    std::int64_t size = 0;
    for (const std::int64_t tile : bytes[a]) size = checked_add(size, tile);
    if (const auto places = size > 0 ? row_places(bound, id) : std::nullopt; places && !places->dense()) {
      array.places = *places, array.tiles = rows_of_tiles(bound, id, *places, bytes[a].size());
      const std::int64_t slowest = std::max(places->entry_step * places->batch, places->step * places->length);
      if (!array.tiles.empty()) size = slowest;
    }
    const bool shares = packed && !array.tiles.empty() && diagram.array(id).role == ArrayRole::input;
    array.next = shares && tensor >= 0 ? tensor : free;
    if (shares && tensor >= 0) continue;
    if (shares) tensor = free;
    free = checked_mul(ceil_div(checked_add(free, size), page), page);
  }
  out.pieces.reserve(pieces), out.first.reserve(static_cast<std::size_t>(out.entries) + 1);
  for (const TileStream& stream : out.list) {
    std::vector<std::size_t> own;
    for (std::size_t a = 0; a < arrays.size(); ++a)
      if (stream.tiles[a] > 0) own.push_back(a);
    for (std::size_t tile = 0; tile < bytes[own.front()].size(); ++tile) {
      out.first.push_back(static_cast<int>(out.pieces.size()));
      for (const std::size_t a : own) add_pieces(arrays[a], tile, bytes[a][tile], out.pieces);
    }
  }
  out.first.push_back(static_cast<int>(out.pieces.size()));
}

}  // namespace tilescope
