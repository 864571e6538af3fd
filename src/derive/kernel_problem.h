// The choice of tiles for a fused kernel with one nest, as a problem: minimise its traffic under its footprint.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "derive/nests/nests.h"
#include "derive/symbolic/symbolic.h"
#include "optimum/exact.h"
#include "optimum/numeric_optimum.h"

namespace tilescope {

// The kernel as a separate schedule over the primitive diagram. If it leaves partial results, a second island merges
// them.
// Tile parameters are named after their axes; the length of a part is "x_part".
Schedule kernel_schedule(const Primitives& primitives, const FusedKernel& kernel, const AxisLoops& loops);
// The same where KernelRules::unread(loops) is known.
Schedule kernel_schedule(const Primitives& primitives, const FusedKernel& kernel, const AxisLoops& loops,
                         const std::vector<ArrayId>& unread);

// The tile problem of a schedule: the sum of its islands' traffic, constrained by every column of every island.
struct ScheduleProblem {
  SymbolicSchedule symbolic{};
  Polynomial traffic{};               // relaxed
  std::vector<Polynomial> columns{};  // relaxed, each at most the memory
  std::vector<SymbolId> tiles{};
};

// `island`: -1 for all. Counts bytes instead of values if `widths` gives each array's bytes per value.
ScheduleProblem problem_of(const Schedule& schedule, const SymbolicOptions& options, int island = -1,
                           const std::map<std::string, Rational>& widths = {});

// Bytes per value of an array, by its name or its dtype key; 1 if `widths` has neither. For an array of running state,
// `diagram` must be that of the expansion.
Rational width_of(const Diagram& diagram, const std::string& array, const std::map<std::string, Rational>& widths);

// The problem without the loops that have one trip in this workload: over one element, one head, one sequence. The
// number of parts that an axis is split into is no tile to optimise, because it increases parallelism and does not
// reduce traffic. Its symbol stays.
void leave_out_ones(ScheduleProblem& problem, const Schedule& schedule, const Workload& workload);

// Names and values of the sizes: extents, the diagram's own sizes, and the mask's symbols.
Valuation sizes_of(const SymbolicSchedule& symbolic, const Schedule& schedule, const Workload& workload,
                   const Mask& mask);

// The largest useful tile of each tile symbol: the length of its axis.
Valuation tile_bounds(const SymbolicSchedule& symbolic, const Schedule& schedule, const Workload& workload);

struct BestTiles {
  bool found = false;  // false: even tiles of 1 do not fit
  double traffic = 0, lower_bound = 0;
  std::vector<double> tiles{};  // in the order of ScheduleProblem::tiles
  int binding_column = -1;
};
// Traffic of `worthless` or more is not wanted: then the answer may be that none was found, which takes less time.
BestTiles best_tiles(const ScheduleProblem& problem, const Valuation& sizes, const Valuation& bounds, double memory,
                     double worthless = std::numeric_limits<double>::infinity());

// The best tiles and the sizes that they were found with. The relaxed count of live tiles is an upper estimate: tiles
// at the edge of a mask count whole. Where the count of all tiles is less, that one holds.
struct TilesAndSizes {
  BestTiles tiles;
  Valuation sizes;
};
TilesAndSizes best_tiles(const ScheduleProblem& problem, const Schedule& schedule, const Workload& workload,
                         const Mask& mask, double memory, double worthless = std::numeric_limits<double>::infinity());

// What the arrays move of the problem's traffic with these tiles.
double moved_of(const ScheduleProblem& problem, const Schedule& schedule, const std::vector<ArrayId>& arrays,
                const std::map<std::string, Rational>& widths, Valuation at, const BestTiles& best);

// Blocks of the first island with these tiles.
double blocks_of(const ScheduleProblem& problem, const Schedule& schedule, const Workload& workload,
                 const BestTiles& best);

// H*(M) of one island in closed form, under the column that limits it if the memory is large.
ExactOptimum closed_form(const ScheduleProblem& problem, const Valuation& sizes);

}  // namespace tilescope
