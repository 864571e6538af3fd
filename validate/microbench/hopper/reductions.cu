// Atomic additions to memory while the copy engine loads. Both use an SM's port to the L2. Kept in the record only.
#include "validate/microbench/hopper/feed.cuh"

namespace tilescope::validate {
namespace {

namespace device = kernels::device;

constexpr int sums_in_flight = 2, added = 32768;  // bytes that a block's 8 warps add to in a round

// In each round the warps of a block add to the block's own floats, and one thread copies `pieces` pieces. They do not
// wait for each other; the slower of the two determines the round's time.
struct Both {
  float* to;
  const char* from;
  int pieces;
  bool add;
  static constexpr int threads = 288, shared_bytes = sums_in_flight * piece;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    __shared__ __align__(8) unsigned long long arrived[sums_in_flight];
    const std::uint32_t barriers = device::shared_address(arrived);
    if (threadIdx.x == 0)
      for (int i = 0; i < sums_in_flight; ++i) device::init_barrier(barriers + 8 * static_cast<unsigned>(i), 1);
    device::fence_barrier_init();
    watch.start();
    if (threadIdx.x == 256) {
      const int count = rounds * pieces;
      Feed{from, device::shared_address(shared), barriers, sums_in_flight}([=](int asked) { return asked < count; });
    } else if (threadIdx.x < 256 && add) {
      float* own = to + blockIdx.x * (added / 4) + threadIdx.x * 4;
#pragma unroll 1
      for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int i = 0; i < added / 4; i += 1024)
          asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1,%1,%1,%1};" ::"l"(own + i), "f"(1e-20f) : "memory");
    }
    watch.stop();
    return 0;
  }
};

}  // namespace

void measure_reductions(Microbench& bench) {
  const DeviceBuffer sums(static_cast<std::size_t>(bench.units()) * added), source(64 * piece);
  check_cuda(cudaMemset(sums.get(), 0, sums.size()), "cudaMemset");
  check_cuda(cudaMemset(source.get(), 0, source.size()), "cudaMemset");
  for (const int blocks : {1, bench.units()}) {
    const auto clocks = [&](bool add, int pieces) {
      const Both body{static_cast<float*>(sums.get()), static_cast<const char*>(source.get()), pieces, add};
      return median_of(cycles_per_round(bench, body, {blocks, Both::threads, Both::shared_bytes}, 50));
    };
    const std::string who = blocks == 1 ? "one SM" : "all SMs";
    MicrobenchCurve alone{"bulk copies from L2, " + who, "bytes a round", "clk a round", {}};
    MicrobenchCurve beside{
        "the same while 8 warps add to 32 KiB of floats in the L2, " + who, "bytes a round", "clk a round", {}};
    beside.points.emplace_back(0, clocks(true, 0));
    for (const int pieces : {1, 2, 4}) {
      alone.points.emplace_back(pieces * piece, clocks(false, pieces));
      beside.points.emplace_back(pieces * piece, clocks(true, pieces));
    }
    bench.add_curve(alone), bench.add_curve(beside);
  }
}

}  // namespace tilescope::validate
