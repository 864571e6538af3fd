#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

constexpr int store_steps = 16;

struct MatrixStores {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + threadIdx.x * 16;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < store_steps; ++step)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%1,%1,%1};" ::"r"(at + step * 512),
                     "r"(threadIdx.x)
                     : "memory");
    }
    watch.stop();
    return reinterpret_cast<unsigned*>(shared)[threadIdx.x];
  }
};

}  // namespace

void measure_hopper_shared_memory(Microbench& bench) {
  bench.add(
      "smem.stmatrix",
      scaled(cycles_per_round(bench, MatrixStores{}, {bench.units(), 1024, 32 * 1024}, 100), 1.0 / (32 * store_steps)),
      "x4, 32 warps");
}

}  // namespace tilescope::validate
