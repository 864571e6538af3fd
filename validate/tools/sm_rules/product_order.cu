// In which order tensor cores take the products of two or three warpgroups that issue them at about the same time.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o order
//   validate/tools/sm_rules/product_order.cu && ./order
// Each warpgroup issues one group of products, `apart` clocks behind the warpgroup before it, and waits for it. Prints
// a line a case: clocks from the first issue until each has issued its last product, and until each has its results.
#include <algorithm>
#include <utility>

#include "set_up.cuh"

constexpr int fill_bytes = 160 * 1024, repeats = 4;

template <int N, bool rs, int products>
__global__ void __launch_bounds__(384, 1) order(unsigned apart, unsigned* out) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ unsigned start;
  const std::uint32_t at = fill<fill_bytes>(dynamic);
  const int group = static_cast<int>(threadIdx.x) / 128, groups = static_cast<int>(blockDim.x) / 128;
  float d[N / 2];
  for (float& each : d) each = 0;
  const std::uint32_t p[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
  const std::uint64_t a = k_major(at), b = k_major(at + 16384);
#pragma unroll 1
  for (int r = 0; r < repeats; ++r) {
    __syncthreads();
    if (threadIdx.x == 0) start = now() + 200;
    __syncthreads();
    const unsigned own = start + static_cast<unsigned>(group) * apart;
    while (static_cast<int>(now() - own) < 0) {
    }
    pin(d);
    fence_operands();
    const unsigned t0 = now();
    issue<products, N, rs, __half>(d, p, a, b);
    const unsigned t1 = now();
    wait_products<0>();
    pin(d);
    const unsigned t2 = now();
    if (threadIdx.x % 128 == 0) {
      unsigned* mine = out + (r * groups + group) * 3;
      mine[0] = t0, mine[1] = t1, mine[2] = t2;
    }
  }
  float all = 0;
  for (const float each : d) all += each;
  if (all == 1.2345f) *out = 7;  // so that the products are needed
}

template <int N, bool rs, int products>
void cases(unsigned* out) {
  const auto kernel = order<N, rs, products>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, fill_bytes + 1024));
  for (const int groups : {2, 3})
    for (const unsigned apart : {0u, 16u, 64u, 256u}) {
      kernel<<<1, 128 * groups, fill_bytes + 1024>>>(apart, out);
      CHECK(cudaGetLastError());
      unsigned t[repeats * 3 * 3] = {};
      CHECK(cudaMemcpy(t, out, sizeof(unsigned) * repeats * groups * 3, cudaMemcpyDeviceToHost));
      for (int r = 1; r < repeats; ++r) {
        const unsigned* of = t + r * groups * 3;
        unsigned first = of[0];
        for (int g = 1; g < groups; ++g) first = std::min(first, of[g * 3]);
        std::printf("%cs n%d x%d, %d warpgroups %u apart:", rs ? 'r' : 's', N, products, groups, apart);
        for (int g = 0; g < groups; ++g)
          std::printf("  %u issued %u done %u", of[g * 3] - first, of[g * 3 + 1] - first, of[g * 3 + 2] - first);
        std::printf("\n");
      }
    }
}

int main() {
  unsigned* out = begin(repeats * 3 * 3);
  cases<64, false, 4>(out), cases<64, false, 16>(out), cases<64, true, 4>(out), cases<64, true, 16>(out);
  cases<128, false, 4>(out), cases<128, false, 8>(out), cases<128, true, 4>(out), cases<128, true, 8>(out);
  cases<128, false, 16>(out), cases<128, true, 16>(out);
}
