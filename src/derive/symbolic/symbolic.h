// A schedule's counts as exact polynomials of sizes, tiles and trip counts: traffic of each array across the boundary,
// live values on chip, computed points. This is the transfer rule of cost/transfer.h with symbols in place of numbers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/transfer.h"
#include "poly/program.h"
#include "poly/symbols.h"

namespace tilescope {

// Values of one array that cross the boundary in one direction.
struct SymbolicTerm {
  int island = 0;
  ArrayId array{};
  bool store = false;
  Polynomial values{};
};

// Values live on the chip while one primitive of the island runs.
struct SymbolicColumn {
  int island = 0;
  std::string at{};
  std::vector<std::string> live{};  // arrays, including those that only the expansion into primitives has
  std::vector<Polynomial> tiles{};  // values of each array, including its copies
  Polynomial values{};              // their sum
};

// Points of the iteration space that an operator computes. A contraction has 2 FLOP per point.
struct SymbolicWork {
  int island = 0, op = 0;
  Polynomial points{};
};

// The source of a symbol's value when the schedule is bound.
// Points of an operator, counted as if they were an array with all of its axes.
inline ArrayId points_of(const Diagram& diagram, int op) {
  return static_cast<ArrayId>(static_cast<int>(diagram.arrays.size()) + op);
}

// The operator whose points an id of points_of counts; < 0: it is an array's.
inline int operator_of_points(const Diagram& diagram, ArrayId id) {
  return static_cast<int>(index(id)) - static_cast<int>(diagram.arrays.size());
}

struct SymbolSource {
  enum class Kind {
    size,
    tile,
    live_share,
    mask_edges,
    seen_rows,
    seen_keys,  // inputs
    live,
    distinct,
    stationary,
    moved,  // externals: sums over live tiles, and of ragged parts
  } kind = Kind::size;
  AxisId axis{};                  // size, tile
  TileSize tile{};                // tile
  int island = 0;                 // externals
  ArrayId array{};                // live, distinct, stationary, moved; or points_of
  std::vector<AxisId> awaited{};  // live, distinct, stationary, moved: streams that do not repeat the array
};

struct SymbolicSchedule {
  Symbols symbols{};
  std::vector<SymbolSource> inputs{}, externals{};  // in the order of Symbols::inputs() and externals()
  std::vector<SymbolicTerm> terms;
  std::vector<SymbolicColumn> columns;
  std::vector<SymbolicWork> work;
};

struct SymbolicOptions {
  bool masked = false;  // the mask is not "none": live tiles are summed where an island skips the others
  bool sees_all_rows = true, sees_all_keys = true;  // each row sees a key, each key is seen by a row: relaxed counts
  std::int64_t buffers = 1;                         // copies of a tile that is loaded again at every step
};

SymbolicSchedule symbolic(const Schedule& schedule, const SymbolicOptions& options = {});
// The options for a mask at these sizes.
SymbolicOptions symbolic_options(const Diagram& diagram, const Workload& workload, const Mask& mask);

// The representation of a mask in relaxed counts: the live share of the score matrix, the rows that see a key and the
// keys that are seen, and the number of ends of a row of tiles that the mask's diagonal edges cut (causal 1, window 2).
// Each cut adds half a tile; there are at least as many cuts that each of these rows and keys counts once. q_len and
// kv_len are the sizes of the guarded axes: see guarded_lengths().
double live_share(const Workload& workload, const Mask& mask);
// Ends of the keys that a row sees which cut tiles, in the mean over rows.
double mask_edges(const Workload& workload, const Mask& mask);

// Values of all inputs and externals of a bound schedule, for Program::run. Resizes the vectors.
void bind_symbols(const SymbolicSchedule& symbolic, const Schedule& schedule, const Workload& workload,
                  const Mask& mask, std::span<const std::int64_t> tiles, std::vector<std::int64_t>& inputs,
                  std::vector<std::int64_t>& externals);

}  // namespace tilescope
