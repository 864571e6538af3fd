// The best tiling under the capacities, the runners-up, and why the others fell out.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

struct Candidate {
  Point point;
  double seconds = 0;
  std::int64_t l2_bytes = 0, hbm_bytes = 0, smem_bytes = 0;
  Resource bound_by = Resource::hbm;
};

struct FellOut {
  Point point;
  bool runnable = true;  // false: the GPU states no tensor rate for the dtype, whatever the tile; `row` is empty
  FootprintRow row;      // the first level that is too small
};

struct SearchResult {
  std::vector<Candidate> feasible;  // by predicted time, then l2 bytes, then footprint
  std::vector<FellOut> infeasible;  // by tile
  bool unmeasured_rates = false;    // a resource had no rate: the order ignores it
};

// Tries every built variant of a kernel, or a grid of tiles for an assumed implementation. `base` gives everything but
// the tiles. Tiles longer than the (rounded-up) problem are left out unless nothing else is left.
SearchResult search_tiles(const Plan& plan, const HardwareProfile& hardware, const Point& base);

}  // namespace tilescope
