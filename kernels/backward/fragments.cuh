// Helpers for the registers of warpgroup products: stores to shared memory, sums in global memory, and hints that keep
// the compiler from moving or carrying them.
#pragma once

#include "backward/backward.h"
#include "backward/sums.cuh"
#include "common/shared_tile.cuh"
#include "common/tma.cuh"
#include "common/wgmma.cuh"

namespace tilescope::kernels::backward {

using namespace device;

// Four 8x8 blocks of 2-byte elements from fragments to shared memory; lane i gives the address of row i % 8 of block i
// / 8.
__device__ __forceinline__ void store_matrices(std::uint32_t address, const std::uint32_t (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(address), "r"(r[0]), "r"(r[1]),
               "r"(r[2]), "r"(r[3])
               : "memory");
}

__device__ __forceinline__ void add_4(float* destination, float a, float b, float c, float d, bool valid) {
  asm volatile(
      "{\n .reg .pred p;\n setp.ne.b32 p, %5, 0;\n"
      " @p red.relaxed.gpu.global.add.v4.f32 [%0], {%1,%2,%3,%4};\n}\n" ::"l"(destination),
      "f"(a), "f"(b), "f"(c), "f"(d), "r"(static_cast<int>(valid))
      : "memory");
}

// Declares that the old values of these registers are not needed, because the next product overwrites them. Otherwise
// the compiler would preserve them up to the product, whose operand is in-out.
template <int count>
__device__ __forceinline__ void overwrite(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "=f"(registers[i]));
}

// Returns the same value, opaque to the compiler at each call. Values computed from it cannot be hoisted out of the
// loop, where they would occupy registers that the accumulators need.
__device__ __forceinline__ std::uint32_t anew(std::uint32_t value) {
  std::uint32_t copy;
  asm volatile("mov.b32 %0, %1;\n" : "=r"(copy) : "r"(value));
  return copy;
}

// Accumulators of 64 rows, each through `finish`, and rounded, to shared memory: [panel of 64 columns][row][64
// columns], swizzled.
template <class T, int count, class Finish>
__device__ __forceinline__ void stage_out(std::uint32_t tile, const float (&acc)[count], Finish finish, int warp,
                                          int lane) {
  const int row = warp * 16 + (lane & 15);
#pragma unroll
  for (int k = 0; k < count / 8; ++k) {  // 16 columns
    std::uint32_t r[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) r[i] = Element<T>::pack(finish(acc[k * 8 + i * 2]), finish(acc[k * 8 + i * 2 + 1]));
    const int chunk = (k % 4 * 2 + (lane >> 4)) ^ (row & 7);
    store_matrices(tile + k / 4 * 64 * 128 + row * 128 + chunk * 16, r);
  }
}

}  // namespace tilescope::kernels::backward
