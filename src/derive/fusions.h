// Which operators share a kernel, and which arrays pass between kernels through memory (theory 4.2, passes P6 and P7).
//
// A fusion is chosen by which interior arrays are stored in memory, and by which of the stored arrays and outputs a
// kernel yields. Each kernel computes what its results need from inputs and stored arrays; anything else it recomputes.
// Fusing, materialising and recomputing are all points of this space.
#pragma once

#include <string>
#include <vector>

#include "diagram/streamability.h"

namespace tilescope {

struct FusedKernel {
  Region region;               // its primitives and what it stores
  std::vector<ArrayId> loads;  // what it loads: inputs, and arrays that other kernels store
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

// All fusions of the diagram except those that are provably never better than another one: a stored array that no other
// kernel loads only adds its store; kernels that share no array cost the same when separate; a cyclic choice cannot
// run.
Fusions enumerate_fusions(const Primitives& primitives, const FusionOptions& options = {});

// The kernel that yields `results` from `available` arrays (and inputs), recomputing the rest.
FusedKernel kernel_for(const Primitives& primitives, const std::vector<ArrayId>& results,
                       const std::vector<ArrayId>& available);

}  // namespace tilescope
