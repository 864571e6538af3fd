// Local memory, which holds register spills: the bandwidth of stores and loads beyond the SM, and the latency of an L1
// hit.
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

constexpr int frame = 5120, in_flight = 8, wide = 8;  // bytes a thread; accesses in a row; bytes of one

__device__ __forceinline__ void store(unsigned at, float x) {
  asm volatile("st.local.v2.f32 [%0], {%1, %1};" ::"r"(at), "f"(x) : "memory");
}
__device__ __forceinline__ float load(unsigned at) {
  float x, y;
  asm volatile("ld.local.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "r"(at) : "memory");
  return x;
}
// The frame's address in the window of local memory.
__device__ __forceinline__ unsigned local_address(float* own) {
  unsigned long long at;
  asm volatile("cvta.to.local.u64 %0, %1;" : "=l"(at) : "l"(own));
  return static_cast<unsigned>(at);
}

// Stores all of `bytes` of each thread, then loads all of it, in every round.
struct LocalSweep {
  int bytes;  // a multiple of in_flight * wide, at most frame
  bool stores, loads;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    float own[frame / 4];
    own[0] = own[frame / 4 - 1] = 0;
    const unsigned base = local_address(own);
    float sum = static_cast<float>(threadIdx.x);
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 1
      for (int i = 0; stores && i < bytes; i += in_flight * wide)
#pragma unroll
        for (int j = 0; j < in_flight; ++j) store(base + i + j * wide, sum);
#pragma unroll 1
      for (int i = 0; loads && i < bytes; i += in_flight * wide) {
        float v[in_flight];
#pragma unroll
        for (int j = 0; j < in_flight; ++j) v[j] = load(base + i + j * wide);
#pragma unroll
        for (int j = 0; j < in_flight; ++j) sum += v[j];
      }
    }
    watch.stop();
    return __float_as_uint(sum + own[rounds % 2]);
  }
};

// One warp; each load's address depends on the previous load.
struct LocalChase {
  int bytes;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    float own[frame / 4];
    own[0] = own[frame / 4 - 1] = 0;
    const unsigned base = local_address(own);
    for (int i = 0; i < bytes; i += wide) store(base + i, 0);
    unsigned zero = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll 8
      for (int i = 0; i < bytes; i += wide) zero = __float_as_uint(load(base + i + zero));
    watch.stop();
    return zero + __float_as_uint(own[rounds % 2]);
  }
};

}  // namespace

void measure_local(Microbench& bench) {
  const int units = bench.units(), most = 197 * 1024;  // bytes of shared memory, so that L1 is small
  const auto of_unit = [&](const LocalSweep& body, int threads) {
    return inverse(cycles_per_round(bench, body, {1, threads, most}, 20), static_cast<double>(body.bytes) * threads);
  };
  bench.add("local.store", of_unit({256, true, false}, 256), "one SM, 8 warps, 8 B a thread");
  bench.add("local.store_one_warp", of_unit({256, true, false}, 32), "one SM, one warp, 8 B a thread");
  constexpr int far = 4096, near = 64;
  bench.add("local.latency", scaled(cycles_per_round(bench, LocalChase{far}, {units, 32, most}, 10), 1.0 * wide / far),
            "one warp per SM, dependent loads, 128 KiB");
  bench.add("local.latency_l1", scaled(cycles_per_round(bench, LocalChase{near}, {1, 32, 0}, 100), 1.0 * wide / near),
            "one warp per SM, dependent loads, 2 KiB");
  const LocalSweep both{256, true, true};
  constexpr int threads = 256, rounds = 400;
  DeviceBuffer memory(sizeof(Span) * static_cast<std::size_t>(units) * 32 + 16);
  Span* spans = static_cast<Span*>(memory.get());
  unsigned* sink = reinterpret_cast<unsigned*>(spans + units * 32);
  std::vector<double> samples;
  for (int i = 0; i <= bench.repeats(); ++i) {
    const auto seconds = [&](int r) {
      return event_seconds([&] { launch_timed(both, {units, threads, most}, r, spans, sink); });
    };
    const double once = seconds(rounds), twice = seconds(2 * rounds);
    if (i > 0) samples.push_back(static_cast<double>(both.bytes) * threads * units * rounds / (twice - once));
  }
  bench.add("l2.write_and_read", samples,
            "per direction; every SM stores 64 KiB of local memory and loads it again, missing L1");
}

}  // namespace tilescope::validate
