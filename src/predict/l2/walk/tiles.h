// What an island's blocks ask of the L2, tile by tile: which tile of which array a place in the nest touches, and its
// size.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/l2/cache/hierarchy.h"
#include "predict/point/bound_island.h"

namespace tilescope {

// Arrays that always move together count as one: K and V of a forward pass are one stream of tiles.
struct TileStream {
  enum class Kind {
    load,    // read whenever the tile changes, or every step
    store,   // written once, when the tile is left
    update,  // read when it is entered again, written when it is left
    add,     // added to in the L2 when it is left: a reduction or an atomic addition
  };
  Kind kind = Kind::load;
  bool every_step = false;
  std::uint32_t awaited = 0;                     // a bit a loop: touched only in the last step of these streams
  bool zeroed = false;                           // update: also the first visit reads
  std::array<std::int64_t, max_loops> stride{};  // tiles a trip of each loop moves on; 0: the loop does not move it
  int first = 0;                                 // entry of tile 0
  std::array<std::int64_t, max_arrays> tiles{};  // by ArrayId: tiles of the array; 0: it is of another stream
  std::array<std::int64_t, max_arrays> share{};  // by ArrayId: bytes of a whole tile that are the array's; placed
};

// An entry is a tile of a stream: pieces first[entry] to first[entry + 1], one for each of its arrays, or more of an
// array whose rows lie apart.
struct TileStreams {
  std::vector<TileStream> list;
  std::vector<CachePiece> pieces;  // placed, as `first`
  std::vector<int> first;
  std::int64_t entries = 0;
  bool each_once = true;  // no tile is loaded or stored a second time
};

// Most tiles that are told apart; an island with more is not walked. The walk takes about 500 B a tile.
inline constexpr std::int64_t most_tiles = std::int64_t{1} << 20;

// False: more than `most_tiles`, or an axis is cut in a way that tiles cannot be numbered by.
bool tile_streams(const BoundIsland& bound, TileStreams& out);
// Adds where the tiles of an island lie.
void place_tiles(const BoundIsland& bound, TileStreams& out);

}  // namespace tilescope
