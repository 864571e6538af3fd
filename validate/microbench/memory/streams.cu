// Streams of tiles through shared memory, as in attention kernels: a kernel's time in excess of its bytes' time, the
// rate at which one SM receives a tile, and the time of streams whose threads also compute on each tile.
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

constexpr int stream_threads = 128;

template <int groups>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

// Each block streams `tiles` tiles of `bytes` from a range of its own, `stages` - 1 of them ahead (one stage: none).
// `busy`: `spans` gets the SM of a block in place of its first clock. `work`: clocks that each thread spins per tile.
template <int stages>
__global__ void __launch_bounds__(stream_threads)
    stream_kernel(const char* source, int bytes, int tiles, bool busy, int work, Span* spans) {
  extern __shared__ __align__(128) unsigned char shared[];
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const char* from = source + static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(tiles) * bytes;
  Span span{clock64(), 0, timer_ns(), 0};
  const auto copy = [&](int tile) {
    if (tile < tiles)
      for (int i = static_cast<int>(threadIdx.x) * 16; i < bytes; i += stream_threads * 16)
        copy_16(base + tile % stages * bytes + i, from + static_cast<std::size_t>(tile) * bytes + i);
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int tile = 0; tile < stages - 1; ++tile) copy(tile);
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    if constexpr (stages == 1) copy(tile);
    wait_copies<stages == 1 ? 0 : stages - 2>();
    __syncthreads();
    if constexpr (stages > 1) copy(tile + stages - 1);
    if (work > 0)
      for (const long long end = clock64() + work; clock64() < end;) {
      }
  }
  wait_copies<0>();
  __syncthreads();
  span.end = clock64(), span.end_ns = timer_ns();
  if (busy) span.begin = own_sm();
  if (threadIdx.x == 0) spans[blockIdx.x] = span;
}

template <int stages>
void stream(const DeviceBuffer& source, Span* spans, int blocks, int bytes, int tiles, bool busy = false,
            int work = 0) {
  const int shared = stages * bytes;
  check_cuda(cudaFuncSetAttribute(stream_kernel<stages>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
             "cudaFuncSetAttribute");
  stream_kernel<stages><<<static_cast<unsigned>(blocks), stream_threads, static_cast<std::size_t>(shared)>>>(
      static_cast<const char*>(source.get()), bytes, tiles, busy, work, spans);
  check_cuda(cudaGetLastError(), "launching a microbenchmark");
}

// A kernel that only stores one sector per warp, as all of these kernels do.
__global__ void storing_kernel(Span* spans) {
  if (threadIdx.x % 32 == 0) spans[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = {};
}

// Fraction of the time from the first block's start to the last block's end during which an SM holds a block, mean over
// SMs.
double busy_share(const std::vector<Span>& spans, int units) {
  unsigned long long first = ~0ull, last = 0;
  std::vector<unsigned long long> ends(static_cast<std::size_t>(units), 0);
  for (const Span& span : spans) {
    first = std::min(first, span.begin_ns), last = std::max(last, span.end_ns);
    auto& end = ends.at(static_cast<std::size_t>(span.begin) % ends.size());
    end = std::max(end, span.end_ns);
  }
  double sum = 0;
  for (const auto end : ends) sum += end > first ? static_cast<double>(end - first) : 0;
  return sum / units / static_cast<double>(last - first);
}

}  // namespace

void measure_streams(Microbench& bench) {
  constexpr int bytes = 32 << 10, few = 4, many = 32;
  const int blocks = 2 * bench.units();
  const DeviceBuffer source(static_cast<std::size_t>(blocks) * many * bytes);
  check_cuda(cudaMemset(source.get(), 1, source.size()), "cudaMemset");
  const DeviceBuffer memory(sizeof(Span) * static_cast<std::size_t>(blocks));
  Span* spans = static_cast<Span*>(memory.get());
  const L2Flush flush;
  const auto cold = [&](auto enqueue) {
    flush.enqueue(nullptr);
    return event_seconds(enqueue);
  };
  const auto seconds = [&](int tiles) { return cold([&] { stream<3>(source, spans, blocks, bytes, tiles); }); };
  seconds(few), seconds(many);
  std::vector<double> ramps;
  // Eight times the usual samples: the difference is a few us, and events resolve half a us.
  for (int i = 0; i < 8 * bench.repeats(); ++i) {
    const double empty = cold([&] { storing_kernel<<<static_cast<unsigned>(bench.units()), 32>>>(spans); });
    const double shorter = seconds(few), longer = seconds(many), a_tile = (longer - shorter) / (many - few);
    ramps.push_back(shorter - empty - few * a_tile);
  }
  bench.add("hbm.ramp", ramps,
            "two blocks per SM stream 4 and 32 tiles of 32 KiB, two ahead; time extrapolated to 0 tiles, minus a "
            "kernel that only stores");
  std::vector<double> shares;
  for (int i = 0; i < bench.repeats(); ++i) {
    flush.enqueue(nullptr);
    stream<3>(source, spans, blocks, bytes, many, true);
    std::vector<Span> host(static_cast<std::size_t>(blocks));
    check_cuda(cudaMemcpy(host.data(), spans, sizeof(Span) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    shares.push_back(busy_share(host, bench.units()));
  }
  bench.add("hbm.busy", shares,
            "fraction of the time during which an SM holds a block, same streams with 32 tiles; memory does not serve "
            "all SMs equally");
  // Blocks and memory wait for each other where the work takes nearly as long as the bytes. These values are compared
  // with the queueing network of the time model (stream_blocks.h).
  MicrobenchCurve curve{"streams of 12 tiles by work on each", "clocks a tile", "s", {}};
  for (const int work : {0, 500, 1000, 1500, 2000, 3000}) {
    std::vector<double> samples;
    for (int i = 0; i < bench.repeats(); ++i) {
      flush.enqueue(nullptr);
      stream<3>(source, spans, blocks, bytes, 12, false, work);
      std::vector<Span> host(static_cast<std::size_t>(blocks));
      check_cuda(cudaMemcpy(host.data(), spans, sizeof(Span) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
      unsigned long long first = ~0ull, last = 0;
      for (const Span& span : host) first = std::min(first, span.begin_ns), last = std::max(last, span.end_ns);
      samples.push_back(static_cast<double>(last - first) * 1e-9);
    }
    curve.points.emplace_back(work, median_of(samples));
  }
  bench.add_curve(curve);
  std::vector<double> rates;
  const auto a_tile = [&](int size) {
    flush.enqueue(nullptr);
    stream<1>(source, spans, 1, size, 200);
    Span span{};
    check_cuda(cudaMemcpy(&span, spans, sizeof span, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return static_cast<double>(span.end - span.begin) / 200;
  };
  for (int i = 0; i < bench.repeats(); ++i) rates.push_back((16384.0 - 2048) / (a_tile(16384) - a_tile(2048)));
  bench.add("hbm.read_one_unit", rates,
            "one SM, one tile at a time by cp.async; tiles of 16 KiB against 2 KiB, L2 flushed before");
}

}  // namespace tilescope::validate
