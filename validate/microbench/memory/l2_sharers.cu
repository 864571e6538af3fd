// L2 bandwidth against the number of SMs that read the same bytes at about the same time, in the record only.
// Simultaneous requests of SMs of one group leave the L2 once.
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

// Blocks read in groups of `sharers`; each group reads its own range. A group has neighbouring blocks, or blocks as far
// apart as possible.
struct SharedLoop {
  const uint4* from;
  std::size_t count;
  unsigned sharers;
  bool adjacent;
  __device__ __forceinline__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const {
    const unsigned groups = gridDim.x / sharers;
    const unsigned group = adjacent ? min(blockIdx.x / sharers, groups - 1) : blockIdx.x % groups;
    return ReadLoop{from + group * count, count, false}(shared, rounds, watch);
  }
};

}  // namespace

void measure_l2_sharers(Microbench& bench) {
  constexpr int threads = 512;
  constexpr std::size_t bytes = 128 << 10;
  const auto units = static_cast<unsigned>(bench.units());
  const DeviceBuffer buffer(bytes * units);
  check_cuda(cudaMemset(buffer.get(), 1, buffer.size()), "cudaMemset");
  for (const bool adjacent : {true, false}) {
    MicrobenchCurve curve{adjacent ? "l2 read by blocks next to each other that read the same 128 KiB"
                                   : "l2 read by blocks far apart that read the same 128 KiB",
                          "blocks that share",
                          "B/clk",
                          {}};
    for (const unsigned sharers : {1u, 2u, 4u, 6u, 11u, 22u, 33u, 66u, 132u}) {
      if (sharers > units) break;
      const SharedLoop body{static_cast<const uint4*>(buffer.get()), bytes / 16, sharers, adjacent};
      curve.points.emplace_back(sharers, static_cast<double>(bytes) * units /
                                             median_of(cycles_per_round(bench, body, {bench.units(), threads, 0}, 20)));
    }
    bench.add_curve(curve);
  }
}

}  // namespace tilescope::validate
