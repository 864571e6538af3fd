// One pipe in one warp of each scheduler, for what it costs beside matrix instructions of other warps.
#pragma once

#include "validate/microbench/operations.cuh"
#include "validate/microbench/span.cuh"

namespace tilescope::validate {

// `count` operations of a thread, in eight chains.
template <class Operation, int count>
__device__ __forceinline__ void run_pipe(unsigned (&x)[8]) {
#pragma unroll
  for (int step = 0; step < count; ++step) Operation::step(x[step % 8], x[(step + 1) % 8]);
}

__device__ __forceinline__ void start_pipe(unsigned (&x)[8]) {
  for (int i = 0; i < 8; ++i) x[i] = operation::as_bits(1.0f + 0.001f * static_cast<float>(threadIdx.x + i));
}

__device__ __forceinline__ unsigned all_of(const unsigned (&x)[8]) {
  unsigned all = 0;
  for (int i = 0; i < 8; ++i) all ^= x[i];
  return all;
}

}  // namespace tilescope::validate
