// Instruction streams of one pipe, to measure their cost next to matrix instructions.
#pragma once

#include "validate/microbench/memory/span.cuh"
#include "validate/microbench/sm/operations.cuh"

namespace tilescope::validate {

// `count` operations per thread, in as many chains as there are values. Each operation combines a chain's own register
// with `y`, as kernels do when they scale sums and scores, or the values of two chains. Next to products, the cost of
// an operation depends on the registers that it reads.
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
