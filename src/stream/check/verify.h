// Compares a witness with direct evaluation of its cascade on random numbers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "stream/witness.h"

namespace tilescope {

// Worst relative errors; NaN where the cascade itself had no finite value on any of the data tried, infinity if the
// witness has no finite value but the cascade has. Compare as !(error <= tolerance).
struct Verification {
  double streaming = 0;  // B(f(x), y) = f(x + y): chunks of random sizes, one after another, against the direct folds
  double merging = 0;    // merges of parts in every order and grouping, and with the empty part, against the same
  double compact = 0;    // merges of parts that were kept as outputs; 0 without a compact state
  int runs = 0;          // data sets on which the cascade had finite values

  double worst() const;
};

// On 24 data sets, signed and positive in turn (positive only under assumptions, which the data may still break),
// except those on which the cascade has no finite value. Errors are relative to the value (to the sum of magnitudes for
// a sum), from 1e-3 on.
Verification verify(const Cascade& cascade, const Witness& witness, std::uint64_t seed);

}  // namespace tilescope
