// The kernels of one schedule of a derivation: their law H*(M), and exact counts at whole tiles.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "derive/derivation.h"
#include "optimum/power_law.h"

namespace tilescope {

// One kernel of a schedule, bound to sizes, a mask and bytes a value.
struct BoundKernel {
  std::string name{};
  Schedule schedule{};
  int island = 0;
  ScheduleProblem problem{};
  Valuation sizes{};
  BestTiles best{};
  ExactOptimum optimum{};
};

struct BoundSchedule {
  std::string name{};
  DeriveRequest request{};
  std::vector<BoundKernel> kernels{};

  bool feasible() const;
  std::string open_because() const;  // why H*(M) has no closed form; empty: it has one
  PowerLaw law() const;              // the sum of the kernels' laws; throws std::domain_error when not closed
  std::string law_text() const;      // one formula a kernel, joined by "; then "
};

// The named schedule, or the best ranked one when `named` is null. No kernels when nothing was ranked.
BoundSchedule bound_schedule(const Derivation& derivation, const NamedDerivation* named);

// The same schedule with other widths or another memory.
BoundSchedule rebound(const BoundSchedule& schedule, const DeriveRequest& request);

// What one kernel moves at whole tiles: the symbolic counts, evaluated exactly.
struct KernelCount {
  struct Moved {
    std::string array{};
    bool store = false;
    bool state = false;     // row statistics and accumulators, which have a format of their own
    bool repeated = false;  // depends on a tile: part of a term with beta > 0; else moved once whatever the tiles
    std::int64_t values = 0;
    double bytes = 0;  // values when the request has no widths
  };
  std::vector<Moved> moved{};

  double bytes(bool repeated) const;
  double bytes() const { return bytes(false) + bytes(true); }
};

// The best real tiles rounded down, in the order of ScheduleProblem::tiles.
std::vector<std::int64_t> whole_tiles(const BoundKernel& kernel);

// Exact counts with these tiles. Throws CountOverflow.
KernelCount count_kernel(const BoundKernel& kernel, const DeriveRequest& request, std::vector<std::int64_t> tiles);

// "tile.q = 450, tile.x = 1".
std::string whole_tiles_text(const BoundKernel& kernel, const std::vector<std::int64_t>& tiles);

}  // namespace tilescope
