// A softmax step on scores in registers, as the programs of this folder run it.
#pragma once

#include "set_up.cuh"

constexpr int rows = 2;  // of a thread

__device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ unsigned packed(float low, float high) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(r) : "f"(low), "f"(high));
  return r;
}
template <int scores>
struct Softmax {
  float s[scores], most[rows] = {-1, -1}, sum[rows] = {0, 0}, found[rows], negative[rows], correction[rows];
  unsigned p[scores / 2];

  __device__ __forceinline__ void maxima() {
#pragma unroll
    for (int h = 0; h < rows; ++h) {
      found[h] = fmaxf(s[h * 2], s[h * 2 + 1]);
#pragma unroll
      for (int j = 1; j < scores / 4; ++j) found[h] = fmaxf(found[h], fmaxf(s[j * 4 + h * 2], s[j * 4 + h * 2 + 1]));
    }
  }
  __device__ __forceinline__ void correct(float scale) {
#pragma unroll
    for (int h = 0; h < rows; ++h) {
      float x = found[h];
      x = fmaxf(x, __shfl_xor_sync(~0u, x, 1)), x = fmaxf(x, __shfl_xor_sync(~0u, x, 2));
      x = fmaxf(most[h], __fmul_rn(x, scale));
      negative[h] = x == -INFINITY ? 0.f : -x;
      correction[h] = exp2_of(__fadd_rn(most[h], negative[h]));
      most[h] = x, sum[h] = __fmul_rn(sum[h], correction[h]);
    }
  }
  __device__ __forceinline__ void exponentials(float scale) {
#pragma unroll
    for (int i = 0; i < scores; ++i) s[i] = exp2_of(__fmaf_rn(s[i], scale, negative[i / 2 % rows]));
#pragma unroll
    for (int i = 0; i < scores; ++i) sum[i / 2 % rows] = __fadd_rn(sum[i / 2 % rows], s[i]);
  }
  __device__ __forceinline__ void convert() {
#pragma unroll
    for (int j = 0; j < scores / 2; ++j) p[j] = packed(s[2 * j], s[2 * j + 1]);
#pragma unroll
    for (int j = 0; j < scores / 2; ++j) asm volatile("" : "+r"(p[j])::"memory");
  }
};
