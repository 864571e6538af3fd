// One kernel as a small loop program: what a block loads, computes, folds, finishes and stores, and in which loop. It
// is built from the diagram's expressions and from the streams that are proved of them (build.h), executed on numbers
// (interpret.h) and printed (print.h). What is printed is what is executed.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"
#include "stream/cascade.h"

namespace tilescope {

// A tile on the chip: the part of an array that the loops select.
struct ProgramTile {
  std::string name{};
  std::vector<AxisId> axes{};
  std::optional<ArrayId> memory{};  // the array that it is loaded from or stored to
  std::optional<FoldKind> kind{};   // accumulators: the fold whose unit they start with
  std::optional<int> view_of{};     // the tile whose first entries along the last axis it is
  int restarts_in = 0;              // accumulators: it is started anew at each step of so many outer loops
  // What M leaves out: repair factors and a tile's own state, which are used up row by row, and the second and further
  // accumulators of a fold of several terms.
  bool uncounted = false;
  bool zeroed = false;          // its memory has the fold's unit before the loops begin
  double empty = std::nan("");  // what memory holds where the mask leaves nothing to it, if that is a constant
};

// A tile folded by itself, before it is merged into the running state of the name before the suffix.
inline constexpr std::string_view tile_suffix = "_tile";

// In expressions a tile's name stands for its value. In a repair the name of a running state is its value before the
// fold; name' is its value after it.
struct Statement {
  enum class Kind {
    loop,        // the body for each tile of the loop's axis
    initialise,  // memory = the unit of the tile's fold, before the loops
    load,        // from memory, unless this tile is on the chip already
    start,       // with the unit of the fold
    resume,      // what an earlier visit left in memory; the unit on the first visit
    compute,     // tile = value, or its fold over `over`
    fold,        // tile = tile*repair (+) fold over `over` of value
    finalise,    // tile = value, over the finished running state
    store,       // to memory, when the tile is left
    add,         // memory += tile
  };
  Kind kind = Kind::compute;
  int loop = -1;
  std::vector<Statement> body{};
  int tile = -1;
  Expression value{};
  std::optional<Expression> repair{};
  std::optional<FoldKind> fold{};
  std::vector<AxisId> over{};
  bool masked = false;         // positions that the mask leaves out are not folded
  std::vector<int> last_of{};  // runs only at the last visit to the present tile of each of these accumulators
  std::vector<int> own{};      // finalise: its accumulators. While all have their units, the value is its fold's unit
  std::optional<FoldKind> unit{};         // finalise: that fold
  bool of_repair = false;                 // compute: of state before and after the fold
  Accumulate by = Accumulate::rewriting;  // add: how
};

struct TileProgram {
  std::string name{};
  int island = 0;
  std::vector<Loop> loops{};  // of the island, for printing; sizes come from the bound nest
  int groups = 0;             // the first loops, spread over blocks
  std::vector<ProgramTile> tiles{};
  std::vector<std::string> state{};  // names of running state
  std::vector<Statement> body{};

  int find(const std::string& tile_name) const {
    for (std::size_t i = 0; i < tiles.size(); ++i)
      if (tiles[i].name == tile_name) return static_cast<int>(i);
    return -1;
  }
};

}  // namespace tilescope
