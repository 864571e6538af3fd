// The gap between consecutive kernels of a stream, and between consecutive blocks in one slot of an SM, when they do
// work. The end of a kernel or block waits for its stores to be issued; empty kernels have none.
#include <algorithm>

#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

constexpr int gap_threads = 256;

struct Times {
  unsigned long long begin, end;  // of a block, by the GPU's timer
};

// Spins for `ns` or copies `count` packets from `from` on, and stores its times.
__global__ void __launch_bounds__(gap_threads)
    working_kernel(unsigned ns, const uint4* from, uint4* to, std::size_t count, Times* times) {
  const unsigned long long begin = timer_ns();
  const std::size_t first = std::size_t{blockIdx.x} * gap_threads + threadIdx.x;
  for (std::size_t i = first; i < count; i += std::size_t{gridDim.x} * gap_threads) to[i] = load_16(from + i);
  while (timer_ns() - begin < ns) {
  }
  if (threadIdx.x % 32 == 0) times[(blockIdx.x * gap_threads + threadIdx.x) / 32] = {begin, timer_ns()};
}

// A block with one busy warp that records its residence time.
__global__ void lasting_kernel(int rounds, unsigned* clocks) {
  const long long begin = clock64();
  float x = static_cast<float>(threadIdx.x);
  if (threadIdx.x < 32)
    for (int i = 0; i < rounds; ++i) asm volatile("fma.rn.f32 %0, %0, %0, %0; fma.rn.f32 %0, %0, %0, %0;" : "+f"(x));
  __syncthreads();
  if (threadIdx.x == 0) clocks[blockIdx.x] = static_cast<unsigned>(clock64() - begin) + (x == 1.5f ? 1 : 0);
}

// Seconds from the end of a kernel's last warp until the next kernel has a block on every SM, for each consecutive pair
// of `kernels` kernels: spins of 5 us, with every other one replaced by a copy of `bytes`.
std::vector<double> gaps(const Microbench& bench, int kernels, std::size_t bytes) {
  const unsigned spins = static_cast<unsigned>(bench.units()), copies = 4 * spins;
  const std::size_t warps = copies * gap_threads / 32;
  const DeviceBuffer memory(sizeof(Times) * warps * static_cast<std::size_t>(kernels)), data(2 * bytes + 32);
  Times* times = static_cast<Times*>(memory.get());
  const uint4* from = static_cast<const uint4*>(data.get());
  for (int turn = 0; turn < 2; ++turn)  // the first run loads the code
    for (int i = 0; i < kernels; ++i) {
      const bool copy = bytes > 0 && i % 2 == 1;
      uint4* to = static_cast<uint4*>(data.get()) + bytes / 16;
      working_kernel<<<copy ? copies : spins, gap_threads>>>(copy ? 0 : 5000, from, to, copy ? bytes / 16 : 0,
                                                             times + warps * static_cast<std::size_t>(i));
    }
  check_cuda(cudaDeviceSynchronize(), "running a microbenchmark");
  std::vector<Times> host(warps * static_cast<std::size_t>(kernels));
  check_cuda(cudaMemcpy(host.data(), times, sizeof(Times) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::vector<double> found;
  unsigned long long last = 0;
  for (int i = 0; i < kernels; ++i) {
    const std::size_t own = bytes > 0 && i % 2 == 1 ? warps : warps / 4;
    const Times* all = host.data() + warps * static_cast<std::size_t>(i);
    unsigned long long begin = 0, end = 0;
    for (std::size_t w = 0; w < own; ++w) end = std::max(end, all[w].end);
    for (std::size_t w = 0; w < warps / 4; ++w) begin = std::max(begin, all[w].begin);  // of the first block on each
    if (i > 0) found.push_back((static_cast<double>(begin) - static_cast<double>(last)) * 1e-9);
    last = end;
  }
  return found;
}

// Seconds that two events around a kernel of 10 us, queued behind a flush of the L2, show beyond the time from its
// first warp's start to its last warp's end.
double alone_seconds(const Microbench& bench, const L2Flush& flush) {
  const auto blocks = static_cast<unsigned>(bench.units());
  std::vector<Times> host(blocks * gap_threads / 32);
  const DeviceBuffer memory(sizeof(Times) * host.size());
  Times* times = static_cast<Times*>(memory.get());
  flush.enqueue(nullptr);
  const double seconds =
      event_seconds([&] { working_kernel<<<blocks, gap_threads>>>(10'000, nullptr, nullptr, 0, times); });
  check_cuda(cudaMemcpy(host.data(), times, sizeof(Times) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  const auto first =
      std::min_element(host.begin(), host.end(), [](const Times& a, const Times& b) { return a.begin < b.begin; });
  const auto last =
      std::max_element(host.begin(), host.end(), [](const Times& a, const Times& b) { return a.end < b.end; });
  return seconds - static_cast<double>(last->end - first->begin) * 1e-9;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double each : values) sum += each;
  return sum / static_cast<double>(values.size());
}

// Seconds that a slot of an SM is empty between blocks of `size` threads, with `resident` blocks per SM that run some
// `rounds`.
double turn_seconds(const Microbench& bench, int size, int resident, int rounds, double hz) {
  constexpr int few = 4, many = 24;
  const int shared = (220 << 10) / resident - 2048;
  check_cuda(cudaFuncSetAttribute(lasting_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
             "cudaFuncSetAttribute");
  const auto places = static_cast<unsigned>(bench.units() * resident);
  const DeviceBuffer memory(sizeof(unsigned) * places * many);
  unsigned* clocks = static_cast<unsigned*>(memory.get());
  const auto seconds = [&](unsigned blocks) {
    std::vector<double> samples;
    for (int i = 0; i < 5; ++i)
      samples.push_back(event_seconds([&] {
        lasting_kernel<<<blocks, static_cast<unsigned>(size), static_cast<std::size_t>(shared)>>>(rounds, clocks);
      }));
    return median_of(samples);
  };
  seconds(places);
  const double shorter = seconds(places * few), longer = seconds(places * many);
  std::vector<unsigned> host(places * many);
  check_cuda(cudaMemcpy(host.data(), clocks, sizeof(unsigned) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  double life = 0;
  for (const unsigned each : host) life += each;
  return (longer - shorter) / (many - few) - life / static_cast<double>(host.size()) / hz;
}

}  // namespace

void measure_launch_gaps(Microbench& bench) {
  const L2Flush flush;
  std::vector<double> near, far, alone;
  for (int i = 0; i < bench.repeats(); ++i) {
    near.push_back(median_of(gaps(bench, 16, 0)));
    far.push_back(mean_of(gaps(bench, 16, std::size_t{96} << 20)));
    alone.push_back(alone_seconds(bench, flush));
  }
  bench.add(
      "launch.interval", near,
      "kernels of 5 us that store one sector per warp; from the end of one until the next has a block on every SM");
  bench.add("launch.interval_from_memory", far, "the same, alternating with copies of 96 MiB; mean of 15");
  bench.add("launch.alone", alone,
            "two events around a kernel of 10 us behind a flush of the L2, minus its first warp's start to its last "
            "warp's end");
  const double hz = bench.find("clock.most") ? bench.find("clock.most")->value : 0;
  if (hz <= 0) return;
  std::vector<double> turns;
  for (const int size : {128, 256, 384})
    for (const int resident : {1, 2, 4})
      for (const int rounds : {60, 250, 750}) turns.push_back(turn_seconds(bench, size, resident, rounds, hz));
  bench.add("launch.block", turns,
            "from the end of a block to the start of the next in its slot; blocks of 128 to 384 threads, 1 to 4 per "
            "SM, 0.3 to 3.2 us long, that store 4 B");
}

}  // namespace tilescope::validate
