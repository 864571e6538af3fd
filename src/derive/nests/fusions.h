// Enumerates which operators share a kernel and which arrays pass between kernels through memory.
//
// A fusion states which interior arrays are stored in memory, and which stored arrays and outputs each kernel yields.
// A kernel computes its results from inputs and stored arrays, and recomputes everything else it needs. So fusing,
// materialising and recomputing are points of one space.
#pragma once

#include <string>
#include <vector>

#include "diagram/streamability.h"

namespace tilescope {

struct FusedKernel {
  Region region;               // its primitives and the arrays that it stores
  std::vector<ArrayId> loads;  // the inputs, and arrays of other kernels, that it loads
  friend bool operator==(const FusedKernel& a, const FusedKernel& b) {
    return a.region.primitives == b.region.primitives && a.region.results == b.region.results && a.loads == b.loads;
  }
};

struct Fusion {
  std::vector<int> kernels;           // positions in Fusions::kernels, in an order in which they can run
  std::vector<ArrayId> materialised;  // interior arrays that go through memory
};

struct Fusions {
  std::vector<FusedKernel> kernels;  // without duplicates; several fusions may share a kernel
  std::vector<Fusion> fusions;
  std::size_t considered = 0;
  bool complete = true;  // false: the enumeration stopped at `most` combinations
};

struct FusionOptions {
  std::vector<ArrayId> omitted{};  // outputs that are not requested
  std::size_t most = 200000;       // combinations considered before the enumeration stops and clears `complete`
};

// Returns all fusions of the diagram except cyclic ones, which cannot run, and those that are provably never better
// than another one. Storing an array that no other kernel loads only adds its store. Kernels that share no array cost
// the same when they are separate.
Fusions enumerate_fusions(const Primitives& primitives, const FusionOptions& options = {});

// The kernel that computes `results` from inputs and `available` arrays, and recomputes all other arrays.
FusedKernel kernel_for(const Primitives& primitives, const std::vector<ArrayId>& results,
                       const std::vector<ArrayId>& available);

}  // namespace tilescope
