// Latency of signalling from one warp to another through mbarriers.
#include "common/mbarrier.cuh"
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

struct HandOver {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const std::uint32_t base = device::shared_address(shared);
    const unsigned warp = threadIdx.x / 32;
    const std::uint32_t own = base + 8 * warp, other = base + 8 * (1 - warp);
    if (threadIdx.x == 0) device::init_barrier(base, 1), device::init_barrier(base + 8, 1);
    device::fence_barrier_init();
    watch.start();
    if (threadIdx.x == 32) device::arrive(other);
    int parity = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      device::wait_barrier(own, parity);
      parity ^= 1;
      if (threadIdx.x % 32 == 0) device::arrive(other);
    }
    watch.stop();
    return 0;
  }
};

// A completed phase: parity 1 of a fresh barrier.
struct Passed {
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const std::uint32_t barrier = device::shared_address(shared);
    if (threadIdx.x == 0) device::init_barrier(barrier, 1);
    device::fence_barrier_init();
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) device::wait_barrier(barrier, 1);
    watch.stop();
    return 0;
  }
};

}  // namespace

void measure_mbarrier(Microbench& bench) {
  bench.add("sync.mbarrier", scaled(cycles_per_round(bench, HandOver{}, {1, 64, 64}, 2000), 0.5),
            "from mbarrier.arrive by one thread until another warp has passed try_wait");
  bench.add("sync.mbarrier_passed", cycles_per_round(bench, Passed{}, {1, 128, 64}, 2000),
            "try_wait of a completed phase, four warps");
}

}  // namespace tilescope::validate
