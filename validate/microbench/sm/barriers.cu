// Block barriers, and the latency of signalling between warpgroups through named barriers.
#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {
namespace {

constexpr int barrier_steps = 16;

struct BlockBarrier {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int step = 0; step < barrier_steps; ++step) asm volatile("bar.sync 0;" ::: "memory");
    }
    watch.stop();
    return 0;
  }
};

// Two warpgroups alternate: each waits at its own barrier, then arrives at the other's.
struct HandOver {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    const int own = 1 + static_cast<int>(threadIdx.x / 128), other = 3 - own;
    watch.start();
    if (own == 2) asm volatile("bar.arrive 1, 256;" ::: "memory");
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      asm volatile("bar.sync %0, 256;" ::"r"(own) : "memory");
      asm volatile("bar.arrive %0, 256;" ::"r"(other) : "memory");
    }
    if (own == 1) asm volatile("bar.sync 1, 256;" ::: "memory");
    watch.stop();
    return 0;
  }
};

}  // namespace

void measure_barriers(Microbench& bench) {
  for (const int warps : {1, 4, 8, 12, 16, 32}) {
    bench.add("sync.block_barrier.w" + std::to_string(warps),
              scaled(cycles_per_round(bench, BlockBarrier{}, {1, 32 * warps, 0}, 200), 1.0 / barrier_steps),
              "consecutive bar.sync");
  }
  // A round is two signals.
  bench.add("sync.named_barrier", scaled(cycles_per_round(bench, HandOver{}, {1, 256, 0}, 2000), 0.5),
            "from bar.arrive until the other warpgroup has passed bar.sync");
}

}  // namespace tilescope::validate
