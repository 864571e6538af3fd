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

// What a program begins with: prints the GPU, and each case as it comes. Returns room for so many results.
inline unsigned* begin(std::size_t results) {
  unsigned* out = nullptr;
  CHECK(cudaMalloc(&out, results * sizeof *out));
  cudaDeviceProp prop{};
  CHECK(cudaGetDeviceProperties(&prop, 0));
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  std::printf("%s, %d SMs\n", prop.name, prop.multiProcessorCount);
  return out;
}

__device__ __forceinline__ unsigned now() {
  unsigned t;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
  return t;
}
__device__ __forceinline__ std::uint32_t shared_at(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// Operands in dynamic shared memory: from the next multiple of 1,024 bytes on. Returns its address. All threads of the
// block take part.
template <int bytes>
__device__ __forceinline__ std::uint32_t fill(unsigned char* dynamic) {
  unsigned char* base = dynamic + ((1024 - (shared_at(dynamic) & 1023)) & 1023);
  for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) reinterpret_cast<unsigned*>(base)[i] = 0x2c002c00u;
  fence_async_proxy();
  __syncthreads();
  return shared_at(base);
}

// `count` products of a warpgroup, one behind the other, as one group: A from registers `p`, or described by `a`.
template <int count, int N, bool rs, class T>
__device__ __forceinline__ void issue(float (&d)[N / 2], const std::uint32_t (&p)[4], std::uint64_t a,
                                      std::uint64_t b) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    if (rs) Wgmma<N>::template rs<T>(d, p, step_descriptor(b, i % 4 * 32), 1);
    else Wgmma<N>::template ss<T>(d, step_descriptor(a, i % 4 * 32), step_descriptor(b, i % 4 * 32), 1);
  }
  commit_products();
}

// `batches` of 16 products of a warpgroup without a pause, `done` of which have been issued; operands at `at`.
template <int N, bool rs, class T>
__device__ __forceinline__ void multiply(std::uint32_t at, int batches, volatile unsigned& done, unsigned* out) {
  float d[N / 2];
  for (float& each : d) each = 0;
  const std::uint32_t p[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
  const std::uint64_t a = k_major(at), b = k_major(at + 16384);
  pin(d);
#pragma unroll 1
  for (int n = 0; n < batches; ++n) {
    fence_operands();
    issue<16, N, rs, T>(d, p, a, b);
    if (threadIdx.x == 0) done = n;
  }
  wait_products<0>();
  pin(d);
  float all = 0;
  for (const float each : d) all += each;
  if (all == 1.2345f) *out = 7;  // so that the products are needed
}
