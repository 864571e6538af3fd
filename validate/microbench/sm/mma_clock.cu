// The SM clock while mma.sync keeps the tensor cores busy, far below the power limit. It does not depend on the number
// of busy SMs. Each restart of products after a pause lowers it.
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

// 16 products a warp, then `pause` dependent multiply-adds.
struct ProductsAndPauses {
  int pause = 0;
  static constexpr int threads = 256, products = 16, chains = 4;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned a[4], b[2], seed = (blockIdx.x * threads + threadIdx.x + 1) * 2654435761u;
    const auto halves = [&] { return ((seed = seed * 1664525u + 1013904223u) & 0x83ff83ffu) | 0x38003800u; };
    for (unsigned& each : a) each = halves();
    for (unsigned& each : b) each = halves();
    float c[chains][4] = {}, x = static_cast<float>(threadIdx.x);
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int i = 0; i < products; ++i) {
        float(&d)[4] = c[i % chains];
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      }
#pragma unroll 1
      for (int i = 0; i < pause; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(0.3f));
    }
    watch.stop();
    unsigned all = __float_as_uint(x);
    for (const auto& d : c)
      for (const float each : d) all ^= __float_as_uint(each);
    return all;
  }
};

}  // namespace

void measure_mma_clock(Microbench& bench) {
  constexpr int clocks = 4000000;  // 2 ms, because the first 15 us after an idle period are slower
  std::vector<double> found;
  for (const int part : {4, 2, 1})
    for (const int pause : {0, 24, 96})
      found.push_back(run_timed(ProductsAndPauses{pause}, {bench.units() / part, ProductsAndPauses::threads, 0},
                                clocks / (200 + 4 * pause))
                          .clock_hz);
  bench.add("clock.mma_most", found,
            "m16n8k16 by 8 warps on a quarter, half and all of the SMs, back to back and after pauses");
}

}  // namespace tilescope::validate
