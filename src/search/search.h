// The best tiling under the capacities, the runners-up, and why the others fell out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "predict/rate_basis.h"
#include "search/candidates.h"

namespace tilescope {

struct Candidate {
  Point point;
  double seconds = 0;       // as predicted
  double busy_seconds = 0;  // the same, with what every unit has of its own only in units that have a block: what ranks
  std::int64_t l2_bytes = 0, hbm_bytes = 0, smem_bytes = 0;
  Resource bound_by = Resource::hbm;
  std::string model;  // model_name
  Basis basis = Basis::measured;
  std::size_t number = 0;  // of those that the walk predicted, by the order of the closed form
};

struct FellOut {
  Point point;
  bool runnable = true;  // false: the GPU states no tensor rate for the dtype, whatever the tile; `row` is empty
  FootprintRow row;      // the first level that is too small
};

// A prediction's time takes all units as busy. Where fewer blocks than units are launched, shared memory, tensor cores
// and pipes of the others stand still; the choice of a tile, or of the parts of a split, must see that.
double busy_seconds(const HardwareProfile& hardware, const Prediction& prediction);

struct SearchResult {
  // By busy_seconds, then l2 bytes, then footprint. Where the base point asks for the walk through the L2, the first
  // ones (Point::l2 says which) are predicted by it and stand before those that only the closed form has predicted.
  std::vector<Candidate> feasible;
  std::vector<FellOut> infeasible;       // by tile
  bool unmeasured_rates = false;         // a resource had no rate: the order ignores it
  bool thinned = false;                  // some sizes were left out to stay within most_search_points
  std::optional<Prediction> first = {};  // of the first feasible one, where it was predicted by the walk
};

// No search predicts more points than this.
inline constexpr std::size_t most_search_points = 100'000;

struct SearchOptions {
  std::vector<int> fixed = {};                   // positions of parameters that keep the base point's value
  bool keep_warps = false, keep_stages = false;  // of a kernel's variants: only those with the base point's
  std::size_t threads = 1;
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// Tries every built variant of a kernel that has what is fixed, or the candidates below for an assumed implementation:
// warps have rows of their own, and, where no such tile fits the GPU, share rows. `base` gives everything but the
// tiles. Throws CountOverflow.
SearchResult search_tiles(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                          const SearchOptions& options = {});

// The same in two steps: all by the closed form, and then, where the base point asks for the walk, the first ones anew.
SearchResult rank_by_closed_form(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                                 const SearchOptions& options = {});
// `threads` 0: those that the work around it leaves free.
void rank_by_walk(const Plan& plan, const HardwareProfile& hardware, const Point& base, std::size_t threads,
                  SearchResult& result);
// The same as far as it decides which is first: those whose lower bound is above another's time are not walked, and
// stay as the closed form predicted them.
void find_first_by_walk(const Plan& plan, const HardwareProfile& hardware, const Point& base, SearchResult& result);

// The point that search_tiles ranks first by the closed form, where the implementation is assumed; nullopt: none is
// feasible.
std::optional<Point> best_by_closed_form(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                                         const SearchOptions& options = {});

// The points that are tried: every combination of candidates.h, with 4, 8 and 12 warps, whose tiles whole matrix
// instructions and warps cover. `thinned` (may be null) is set when sizes were left out.
std::vector<Point> search_points(const Plan& plan, const HardwareProfile& hardware, const Point& base,
                                 const SearchOptions& options, bool* thinned, WarpLayout layout = WarpLayout::own_rows);

}  // namespace tilescope
