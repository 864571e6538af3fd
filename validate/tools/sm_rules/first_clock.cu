// The SM clock in the first milliseconds after a pause of 0.3 s: wgmma on random normal operands on a part of the SMs,
// with `pause` dependent multiply-adds between 16 products of each of two warpgroups.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -I src -o first_clock \
//     validate/tools/sm_rules/first_clock.cu && ./first_clock
// Prints a line a case: MHz by the time since the first product at which windows of 8 rounds began, 20 us without a
// pause and over 100 with 1000 (0: none began there). All cases run twice.
#include <cuda_fp16.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "common/wgmma.cuh"

namespace device = tilescope::kernels::device;
constexpr int n = 256, groups = 2, tiles = 4, threads = 128 * groups;
constexpr int shared_bytes = groups * 64 * 128 + tiles * n * 128 + 1024;

__device__ float normal(unsigned i) {
  unsigned a = i * 2654435761u + 12345u, b = a ^ 0x9e3779b9u;
  a ^= a >> 15, a *= 0x85ebca6bu, a ^= a >> 13;
  b ^= b >> 16, b *= 0xc2b2ae35u, b ^= b >> 15;
  const float u = (static_cast<float>(a >> 8) + 1.0f) * 0x1p-24f, v = static_cast<float>(b >> 8) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}
__device__ unsigned long long timer() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

__global__ void __launch_bounds__(threads, 1)
    products(unsigned long long* stamps, int windows, int rounds, int pause, int fresh, float* out) {
  extern __shared__ __align__(1024) unsigned char shared[];
  for (unsigned i = threadIdx.x; i < shared_bytes / 4; i += threads) {
    const __half2 two =
        __floats2half2_rn(normal(2 * (i + blockIdx.x * 65536)), normal(2 * (i + blockIdx.x * 65536) + 1));
    reinterpret_cast<unsigned*>(shared)[i] = *reinterpret_cast<const unsigned*>(&two);
  }
  device::fence_async_proxy();
  __syncthreads();
  const std::uint32_t base = device::shared_address(shared);
  const std::uint64_t a = device::k_major(base + threadIdx.x / 128 * 64 * 128),
                      b = device::k_major(base + groups * 64 * 128);
  float d[n / 2], x = static_cast<float>(threadIdx.x);
  for (int i = 0; i < n / 2; ++i) d[i] = 0;
  for (int w = 0; w <= windows; ++w) {
    if (threadIdx.x == 0)
      stamps[(blockIdx.x * (windows + 1) + w) * 2] = timer(),
                                                stamps[(blockIdx.x * (windows + 1) + w) * 2 + 1] = clock64();
    if (w == windows) break;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      device::pin(d);
      device::fence_operands();
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
        for (int step = 0; step < 4; ++step)
          device::Wgmma<n>::template ss<__half>(d, device::step_descriptor(a, step * 32),
                                                device::step_descriptor(b, tile * n * 128 + step * 32),
                                                tile % 2 == 0 && step == 0 ? fresh : 1);
      device::commit_products();
      device::wait_products<0>();
      device::pin(d);
#pragma unroll 1
      for (int i = 0; i < pause; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(0.3f));
    }
  }
  float all = x;
  for (int i = 0; i < n / 2; ++i) all += d[i];
  out[blockIdx.x * threads + threadIdx.x] = all;
}

int main() {
  cudaFuncSetAttribute(products, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  int units = 0;
  cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0);
  constexpr int windows = 400, rounds = 8;  // 20 us without a pause
  unsigned long long* dev;
  float* out;
  std::vector<unsigned long long> all(2 * (windows + 1) * units);
  const unsigned long long* stamps = all.data();
  cudaMalloc(&dev, sizeof(unsigned long long) * 2 * (windows + 1) * units);
  cudaMalloc(&out, sizeof(float) * threads * units);
  cudaMemset(dev, 0, sizeof(unsigned long long) * 2 * (windows + 1) * units);
  const double ends[] = {0, 15, 30, 60, 120, 250, 500, 1000, 2000, 4000};
  for (int repeat = 0; repeat < 2; ++repeat)
    for (const int pause : {0, 250, 1000})
      for (const int part : {1, 3, 5, 8}) {
        const int blocks = units * part / 8;
        usleep(300000);
        products<<<blocks, threads, shared_bytes>>>(dev, windows, rounds, pause, 0, out);
        if (const auto e = cudaDeviceSynchronize()) return std::printf("%s\n", cudaGetErrorString(e)), 1;
        cudaMemcpy(all.data(), dev, all.size() * 8, cudaMemcpyDeviceToHost);
        std::printf("pause %4d part %d/8:", pause, part);
        for (std::size_t k = 0; k + 1 < sizeof ends / sizeof *ends; ++k) {
          double clocks = 0, ns = 0;
          for (int block = 0; block < blocks; block += 7)
            for (int w = 0; w < windows; ++w) {
              const auto* at = stamps + (block * (windows + 1) + w) * 2;
              const double since = (at[0] - stamps[block * (windows + 1) * 2]) / 1e3;
              if (since >= ends[k] && since < ends[k + 1]) clocks += at[3] - at[1], ns += at[2] - at[0];
            }
          std::printf(" %4.0f-%4.0f us %5.0f", ends[k], ends[k + 1], ns > 0 ? clocks / ns * 1e3 : 0);
        }
        std::printf("\n");
      }
}
