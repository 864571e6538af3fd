// Rules of the simulated SM: how long a warp's stores to shared memory take until asynchronous products may read them.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o stored
//   validate/tools/sm_rules/stored.cu && ./stored
// Each warp of a block stores n times four matrices of 8 x 8 and passes a fence of the asynchronous proxy. Prints a
// line a case: n, warps; clocks of the stores and of both, of the warp that takes longest.
#include <algorithm>
#include <vector>

#include "set_up.cuh"

constexpr int times = 50;

template <int n, bool fence>
__global__ void __launch_bounds__(512, 1) stored(unsigned* out) {
  __shared__ __align__(1024) unsigned char matrices[32768];
  const std::uint32_t at = shared_at(matrices) + threadIdx.x / 32 * 512 + threadIdx.x % 32 * 16;
  unsigned clocks = 0;
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
    __syncthreads();
    __nanosleep(1000);
    __syncthreads();
    const unsigned start = now();
#pragma unroll
    for (int j = 0; j < n; ++j)
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%1,%1,%1};" ::"r"(at + j * 512 % 8192), "r"(i)
                   : "memory");
    if (fence) fence_async_proxy();
    clocks += now() - start;
  }
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = clocks;
}

template <int n, bool fence>
double longest(int warps, unsigned* out) {
  std::vector<unsigned> host(static_cast<std::size_t>(warps));
  for (int i = 0; i < 2; ++i) stored<n, fence><<<1, 32 * warps>>>(out);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
  return *std::max_element(host.begin(), host.end()) / static_cast<double>(times);
}

template <int n>
void cases(unsigned* out) {
  for (const int warps : {1, 4, 8, 16})
    std::printf("stores %d, %d warps: %.1f %.1f\n", n, warps, longest<n, false>(warps, out),
                longest<n, true>(warps, out));
}

int main() {
  unsigned* out = begin(16);
  cases<0>(out), cases<1>(out), cases<2>(out), cases<4>(out), cases<8>(out), cases<16>(out);
}
