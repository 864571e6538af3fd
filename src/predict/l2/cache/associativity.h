// The associativity of an L2 from what repeated sweeps over scattered data move to and from DRAM.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "predict/l2/cache/cache.h"

namespace tilescope {

// Names of the curves in a record of `hardware measure` from which the associativity follows.
inline constexpr const char* read_again_curve = "l2 data read again that had gone, 64 KiB pieces";
inline constexpr const char* stored_again_curve = "l2 data stored again that had been written to DRAM, 64 KiB pieces";

// Points (bytes of the set, part of the set that a sweep moves) of a microbenchmark: a set of pieces of 64 KiB at
// random addresses of 2 GiB is swept six times, and the sweeps after the first are counted
// (validate/microbench/memory/l2_reuse.cu).
using SweepCurve = std::vector<std::pair<double, double>>;

// The bytes that DRAM supplies to sweeps in which every SM reads every piece, as a part of the set; or, with `store`,
// the bytes of earlier contents that DRAM took where each piece is stored by one SM. A mean over several draws of
// addresses.
double swept_again(const CacheShape& shape, double bytes, bool store);

struct Associativity {
  std::int64_t ways = 0, dirty_ways = 0;             // lines of a set; of them, those that may be unwritten
  double read_difference = 0, store_difference = 0;  // root of the mean squared difference from the curves' points
};

// The number of ways, and of ways that may be unwritten, whose cache comes nearest to both curves: powers of two, of
// which L2 caches are built. All 0: a curve is empty or the capacity is not known.
Associativity fit_associativity(std::int64_t capacity, int partitions, const SweepCurve& reads,
                                const SweepCurve& stores);

}  // namespace tilescope
