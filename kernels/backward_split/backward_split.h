// The backward pass in two kernels that need no atomics: dK and dV by tiles of keys (backward/main.cuh without its dQ),
// dQ by tiles of queries (backward/query.cuh). Each recomputes P and dS.
#pragma once

#include <vector>

#include "kernel_api.h"

namespace tilescope::kernels::backward_split {

// One built combination.
struct Instance {
  Variant variant;
  const void *preprocess = nullptr, *keys = nullptr, *queries = nullptr;  // the __global__ functions
  int keys_smem_bytes = 0, queries_smem_bytes = 0;
};

const std::vector<Instance>& instances();

// Defined by instances/*.cu, one file a dtype.
std::vector<Instance> fp16_instances();
std::vector<Instance> bf16_instances();

}  // namespace tilescope::kernels::backward_split
