// Streams of one pipe, for what it costs beside matrix instructions.
#pragma once

#include "validate/microbench/memory/span.cuh"
#include "validate/microbench/sm/operations.cuh"

namespace tilescope::validate {

// `count` operations of a thread, in as many chains as there are values: of a chain's own register and `y`, as kernels
// scale sums and scores, or of two chains' values. Beside products they cost more or less with the registers they read.
template <class Operation, int count, int chains>
__device__ __forceinline__ void run_pipe(unsigned (&x)[chains], unsigned y) {
#pragma unroll
  for (int step = 0; step < count; ++step) Operation::step(x[step % chains], y);
}
template <class Operation, int count, int chains>
__device__ __forceinline__ void run_pipe(unsigned (&x)[chains]) {
#pragma unroll
  for (int step = 0; step < count; ++step) Operation::step(x[step % chains], x[(step + 1) % chains]);
}

template <int chains>
__device__ __forceinline__ void start_pipe(unsigned (&x)[chains]) {
  for (int i = 0; i < chains; ++i) x[i] = operation::as_bits(1.0f + 0.001f * static_cast<float>(threadIdx.x + i));
}

template <int chains>
__device__ __forceinline__ unsigned all_of(const unsigned (&x)[chains]) {
  unsigned all = 0;
  for (int i = 0; i < chains; ++i) all ^= x[i];
  return all;
}

}  // namespace tilescope::validate
