// Streams of tiles that do not start at a cache line. Neighbouring warps fetch parts of the same line separately, so
// the same bytes take longer.
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

constexpr int pair_threads = 128, blocks = 512, tiles = 70, tile = 4096, stages = 6, chunk = tile / (pair_threads / 32);

// Each warp copies its part of a tile of two arrays, all but one of the stages ahead.
__global__ void __launch_bounds__(pair_threads) two_streams(const char* first, const char* second) {
  extern __shared__ __align__(128) unsigned char shared[];
  const unsigned part = threadIdx.x / 32 * chunk + threadIdx.x % 32 * 16;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + part;
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * tiles * tile + part;
  int asked = 0;
  const auto copy = [&] {
    const unsigned slot = to + static_cast<unsigned>(asked % stages * 2 * tile);
    if (asked < tiles)
#pragma unroll
      for (int i = 0; i < chunk; i += 512) {
        copy_16(slot + i, first + at + static_cast<std::size_t>(asked) * tile + i);
        copy_16(slot + tile + i, second + at + static_cast<std::size_t>(asked) * tile + i);
      }
    ++asked;
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int i = 0; i < stages - 1; ++i) copy();
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
    __syncwarp();
    copy();
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

}  // namespace

void measure_off_line(Microbench& bench) {
  const std::size_t bytes = static_cast<std::size_t>(blocks) * tiles * tile;
  const DeviceBuffer first(bytes + 128), second(bytes + 128);
  check_cuda(cudaMemset(first.get(), 1, first.size()), "cudaMemset");
  check_cuda(cudaMemset(second.get(), 1, second.size()), "cudaMemset");
  constexpr int shared = stages * 2 * tile;
  check_cuda(cudaFuncSetAttribute(two_streams, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
             "cudaFuncSetAttribute");
  const auto seconds = [&](int past) {
    return event_seconds([&] {
      two_streams<<<blocks, pair_threads, shared>>>(static_cast<const char*>(first.get()) + past,
                                                    static_cast<const char*>(second.get()) + past);
      check_cuda(cudaGetLastError(), "launching a microbenchmark");
    });
  };
  const MicrobenchValue* const read = bench.find("hbm.read");
  std::vector<double> rates;
  std::vector<std::pair<double, double>> points;
  for (const int past : {0, 16, 32, 64, 96}) {
    std::vector<double> samples, longer;
    seconds(past), seconds(past);
    for (int i = 0; i < bench.repeats(); ++i) {
      const double on = seconds(0), off = seconds(past);
      samples.push_back(off), longer.push_back(off - on);
    }
    points.emplace_back(past, median_of(samples));
    if (past != 64 || read == nullptr) continue;
    for (const double more : longer)
      rates.push_back(1 / (1 / read->value + std::max(0.0, more) / (2.0 * static_cast<double>(bytes))));
  }
  bench.add_curve({"hbm read of two arrays, 147 MB each, in tiles of 4 KiB", "bytes past a line", "s", points});
  if (!rates.empty())
    bench.add("hbm.read_off_line", rates,
              "hbm.read scaled by the slowdown of streams that start 64 B after a line instead of at a line; 512 "
              "blocks stream two arrays of 147 MB by cp.async, 1 KiB per warp and tile");
}

}  // namespace tilescope::validate
