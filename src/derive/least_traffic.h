// A lower bound on what a nest moves, whatever its tiles: sums and products of a few numbers, so that most nests of a
// kernel need no tile problem of their own.
#pragma once

#include "derive/derivation.h"

namespace tilescope {

// Values or bytes of the array counted once; under a mask those of rows that see a key, of keys that are seen, or of
// visible pairs.
double volume(const Diagram& diagram, const DeriveRequest& request, ArrayId id);
double width(const DeriveRequest& request, const Array& array);

class LeastTraffic {
 public:
  LeastTraffic(const Primitives& primitives, const FusedKernel& kernel, const DeriveRequest& request);

  // A loop over an axis makes at least as many trips as its largest tile needs. A tile is at most as large as the axis,
  // and the tile of each array that the kernel loads, computes or stores fits in memory; infinity where one never does.
  // Each array is moved at least once, and again at each trip of the loops that repeat it. Loads of results that a nest
  // comes back to are not counted. Under a mask neither are repetitions by the guarded axes, because not all of their
  // trips are made.
  double of(const LegalNest& nest) const;

 private:
  struct Held {
    AxisBits axes = 0;
    double width = 0;
  };
  struct Moved {
    Held held{};
    double once = 0;
  };

  std::vector<double> sizes_;  // by axis
  AxisBits batch_ = 0, skipped_ = 0;
  double memory_ = 0;
  std::vector<Moved> moved_;  // in the order of NestCost::repeated
  std::vector<Held> made_;    // interior arrays
};

}  // namespace tilescope
