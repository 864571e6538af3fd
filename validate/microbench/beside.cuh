// Streams of one pipe, for what it costs beside matrix instructions.
#pragma once

#include "validate/microbench/operations.cuh"
#include "validate/microbench/span.cuh"

namespace tilescope::validate {

// Operations as attention kernels have them: `x` is a chain's own register, `y` one of a few that many share, `scale` a
// parameter of the kernel. How much they cost beside products goes with the registers that the assembler picks.
namespace streamed {

struct Ex2 {
  static __device__ __forceinline__ void step(unsigned& x, unsigned, float) { operation::Ex2::step(x, 0); }
};
struct Ffma {  // scores, less their maximum
  static __device__ __forceinline__ void step(unsigned& x, unsigned y, float scale) {
    float f = operation::as_float(x);
    asm volatile("fma.rn.ftz.f32 %0, %0, %1, %2;" : "+f"(f) : "f"(scale), "f"(operation::as_float(y)));
    x = operation::as_bits(f);
  }
};
struct Max {
  static __device__ __forceinline__ void step(unsigned& x, unsigned y, float) { operation::Max::step(x, y); }
};

}  // namespace streamed

// `count` operations of a thread, in as many chains as there are values.
template <class Operation, int count, int chains>
__device__ __forceinline__ void run_pipe(unsigned (&x)[chains], const unsigned (&y)[4], float scale) {
#pragma unroll
  for (int step = 0; step < count; ++step) Operation::step(x[step % chains], y[step % 4], scale);
}
// The same of two chains' values each.
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
