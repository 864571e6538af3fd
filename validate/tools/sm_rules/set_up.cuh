// What the programs of this folder share.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "common/wgmma.cuh"

using namespace tilescope::kernels::device;

#define CHECK(call)                                                                                             \
  do {                                                                                                          \
    const cudaError_t e_ = (call);                                                                              \
    if (e_ != cudaSuccess) std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)), std::exit(3); \
  } while (0)

__device__ __forceinline__ unsigned now() {
  unsigned t;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
  return t;
}
__device__ __forceinline__ std::uint32_t shared_at(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
