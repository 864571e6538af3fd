// Rules of the simulated SM: loads of shared memory beside products of the same warpgroups.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o loads_beside
//   validate/tools/sm_rules/loads_beside.cu && ./loads_beside
// Each warpgroup of a block issues a product, loads n times 4, 8 or 16 bytes a thread (four addresses in a warp), waits
// for them, issues the other products and waits for all: again and again, on its own. Prints a line a case: A from
// shared memory or registers, columns, products, bytes, loads, warpgroups; clocks of a pass.
#include <vector>

#include "set_up.cuh"

constexpr int fill_bytes = 96 * 1024, passes = 400;

template <int N, bool rs>
__device__ __forceinline__ void multiply_once(float (&d)[N / 2], std::uint32_t base, int i) {
  const std::uint32_t p[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
  const std::uint64_t b = step_descriptor(k_major(base + 16384), i % 4 * 32);
  if (rs) Wgmma<N>::template rs<__half>(d, p, b, 1);
  else Wgmma<N>::template ss<__half>(d, step_descriptor(k_major(base), i % 4 * 32), b, 1);
}

template <int words>
__device__ __forceinline__ void load(unsigned (&v)[words], std::uint32_t at) {
  if constexpr (words == 1) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(at) : "memory");
  if constexpr (words == 2)
    asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at) : "memory");
  if constexpr (words == 4)
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at)
                 : "memory");
}

template <int N, bool rs, int products, int words, int loads>
__global__ void __launch_bounds__(256, 1) beside(unsigned* out) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ __align__(128) unsigned loaded[2048];
  for (unsigned i = threadIdx.x; i < 2048; i += blockDim.x) loaded[i] = 0;
  const std::uint32_t base = fill<fill_bytes>(dynamic);
  const std::uint32_t at = shared_at(loaded) + threadIdx.x % 4 * 4 * words;
  float d[N / 2];
  for (float& each : d) each = 0;
  pin(d);
  unsigned all = 0;
  const unsigned start = now();
#pragma unroll 1
  for (int n = 0; n < passes; ++n) {
    fence_operands();
    multiply_once<N, rs>(d, base, 0);
    unsigned v[loads ? loads : 1][words];
#pragma unroll
    for (int i = 0; i < loads; ++i) load(v[i], at + i * 64);
#pragma unroll
    for (int i = 0; i < loads; ++i) all ^= v[i][words - 1];
    asm volatile("" : "+r"(all)::"memory");
#pragma unroll
    for (int i = 1; i < products; ++i) multiply_once<N, rs>(d, base, i);
    commit_products();
    wait_products<0>();
    pin(d);
  }
  const unsigned clocks = now() - start;
  float sum = 0;
  for (const float each : d) sum += each;
  if (sum == 1.2345f || all == 12345u) out[9] = 7;  // so that products and loads are needed
  if (threadIdx.x % 128 == 0) out[threadIdx.x / 128] = clocks;
}

unsigned* out;
std::vector<unsigned> host(32);

template <int N, bool rs, int products, int words, int loads>
void one() {
  const auto kernel = beside<N, rs, products, words, loads>;
  constexpr int dynamic_bytes = fill_bytes + 2048;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  for (int groups = 1; groups <= 2; ++groups) {
    for (int i = 0; i < 2; ++i) kernel<<<1, 128 * groups, dynamic_bytes>>>(out);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
    std::printf("%s n%d x%d, %d bytes x%d, %d warpgroups: %.1f\n", rs ? "rs" : "ss", N, products, 4 * words, loads,
                groups, host[0] / static_cast<double>(passes));
  }
}

template <int N, bool rs, int products>
void cases() {
  one<N, rs, products, 1, 0>(), one<N, rs, products, 1, 4>(), one<N, rs, products, 1, 16>();
  one<N, rs, products, 2, 1>(), one<N, rs, products, 2, 4>(), one<N, rs, products, 2, 8>();
  one<N, rs, products, 2, 16>(), one<N, rs, products, 4, 1>(), one<N, rs, products, 4, 4>();
  one<N, rs, products, 4, 8>();
}

int main() {
  out = begin(host.size());
  cases<64, false, 4>(), cases<64, false, 8>(), cases<128, false, 4>(), cases<128, false, 8>();
  cases<64, true, 8>(), cases<128, true, 8>();
}
