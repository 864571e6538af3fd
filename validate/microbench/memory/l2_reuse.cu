// The L2 hit rate of reused data against the set's size, by DRAM counters: repeated sweeps over sets of ranges.
#include <algorithm>
#include <numeric>
#include <random>

#include "predict/l2/cache/associativity.h"
#include "validate/measure/counters/counters.h"
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

constexpr int sweep_threads = 1024, sweeps = 6;
constexpr std::size_t chunk_bytes = 64 << 10, pool_bytes = std::size_t{2} << 30;

__device__ unsigned arrived, generation;

// A barrier over all blocks of the grid.
__device__ void meet() {
  __syncthreads();
  if (threadIdx.x == 0) {
    volatile unsigned* now = &generation;
    const unsigned mine = *now;
    __threadfence();
    if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
      arrived = 0;
      __threadfence();
      atomicAdd(&generation, 1u);
    } else {
      while (*now == mine) {
      }
    }
    __threadfence();
  }
  __syncthreads();
}

// Every block reads every chunk, eight chunks in step; or each chunk is stored by one block.
__global__ void __launch_bounds__(sweep_threads)
    sweep_chunks(uint4* pool, const int* chunks, int count, int rounds, bool store, unsigned* sink) {
  unsigned x = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int c = store ? blockIdx.x : 0, done = 1; c < count; c += store ? gridDim.x : 1, ++done) {
      uint4* from = pool + chunks[c] * (chunk_bytes / 16);
      for (std::size_t i = threadIdx.x; i < chunk_bytes / 16; i += sweep_threads) {
        if (store) {
          __stcg(from + i, make_uint4(round, x, c, 1));
        } else {
          const uint4 v = __ldcg(from + i);
          x ^= v.x ^ v.y ^ v.z ^ v.w;
        }
      }
      if (!store && done % 8 == 0) meet();
    }
    meet();
  }
  if (x == 1) *sink = x;
}

// Chunks of `ranges` ranges, each somewhere in its own part of the pool; all ranges advance together.
std::vector<int> set_of(double mib, int ranges, unsigned seed) {
  std::mt19937 random(seed);
  const int each = static_cast<int>(mib * 16 / ranges + 0.5),
            part = static_cast<int>(pool_bytes / chunk_bytes) / ranges;
  std::vector<int> first(static_cast<std::size_t>(ranges)), chunks;
  for (int r = 0; r < ranges; ++r)
    first[static_cast<std::size_t>(r)] = r * part + static_cast<int>(random() % static_cast<unsigned>(part - each));
  for (int k = 0; k < each; ++k)
    for (int r = 0; r < ranges; ++r) chunks.push_back(first[static_cast<std::size_t>(r)] + k);
  return chunks;
}

// Part of the set that the second and later sweeps move to or from DRAM, by bytes of the set. The more ranges are
// swept, the less evenly they fill the cache's sets. Kernels sweep a few ranges at a time: those of some heads in some
// arrays. Each size is the mean over several choices of ranges, because their addresses decide which of them share
// cache sets. `pieces`: chunks at random addresses instead of ranges, which shows the associativity.
MicrobenchCurve reuse_curve(const Microbench& bench, const DeviceBuffer& pool, bool store, bool pieces) {
  const char* metric = store ? "dram__bytes_write.sum" : "dram__bytes_read.sum";
  MicrobenchCurve curve{pieces  ? (store ? stored_again_curve : read_again_curve)
                        : store ? "l2 data stored again that had been written to DRAM"
                                : "l2 data read again that had gone",
                        "bytes of the set",
                        "part of the set, a sweep",
                        {}};
  CounterSession session({metric});
  const L2Flush flush;
  constexpr std::size_t most = pool_bytes / chunk_bytes;
  const int sets = bench.quick() || pieces ? 4 : 16;
  const DeviceBuffer lists(static_cast<std::size_t>(sets) * most * sizeof(int) + 16);
  int* const first = static_cast<int*>(lists.get());
  for (double mib = 12; mib <= 46; mib += bench.quick() ? 4 : mib < 22 || mib >= 36 ? 2 : 1) {
    std::vector<CounterRange> ranges;
    double size = 0;
    for (int set = 0; set < sets; ++set) {
      const int parts = pieces ? static_cast<int>(mib * 16) : store ? 1 : set % 2 == 0 ? 4 : 8;
      const std::vector<int> chunks = set_of(mib, parts, static_cast<unsigned>(set) + 1);
      int* const list = first + static_cast<std::size_t>(set) * most;
      check_cuda(cudaMemcpy(list, chunks.data(), chunks.size() * sizeof(int), cudaMemcpyHostToDevice), "cudaMemcpy");
      size = static_cast<double>(chunks.size() * chunk_bytes);
      const auto rounds = [=, &pool, &bench, count = static_cast<int>(chunks.size())](int times) {
        return [=, &pool, &bench] {
          sweep_chunks<<<static_cast<unsigned>(bench.units()), sweep_threads>>>(
              static_cast<uint4*>(pool.get()), list, count, times, store,
              reinterpret_cast<unsigned*>(first + static_cast<std::size_t>(sets) * most));
          check_cuda(cudaGetLastError(), "the sweep's launch");
        };
      };
      const auto cold = [&] { flush.enqueue(nullptr); };
      ranges.push_back({"one" + std::to_string(set), cold, rounds(1)});
      ranges.push_back({"all" + std::to_string(set), cold, rounds(sweeps)});
    }
    const auto counted = session.collect(ranges).values;
    double moved = 0;
    for (int set = 0; set < sets; ++set)
      moved += counted.at("all" + std::to_string(set)).at(metric) - counted.at("one" + std::to_string(set)).at(metric);
    curve.points.emplace_back(size, std::clamp(moved / (sets * (sweeps - 1) * size), 0.0, 1.0));
  }
  return curve;
}

// Isotonic regression: the nearest non-decreasing curve. Neighbours that are out of order take their mean.
std::vector<std::pair<double, double>> rising(const std::vector<std::pair<double, double>>& points) {
  std::vector<std::pair<double, int>> levels;  // mean, points
  for (const auto& [x, y] : points) {
    levels.emplace_back(y, 1);
    while (levels.size() > 1 && levels[levels.size() - 2].first > levels.back().first) {
      const auto [mean, count] = levels.back();
      levels.pop_back();
      auto& [before, some] = levels.back();
      before = (before * some + mean * count) / (some + count), some += count;
    }
  }
  std::vector<std::pair<double, double>> result;
  for (const auto& [mean, count] : levels)
    for (int i = 0; i < count; ++i) result.emplace_back(points[result.size()].first, mean);
  return result;
}

// The size at which the curve reaches the given fraction; 0: it does not reach it.
double crossing(const std::vector<std::pair<double, double>>& points, double part) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto [x0, y0] = points[i - 1];
    const auto [x1, y1] = points[i];
    if (y0 < part && y1 >= part) return x0 + (x1 - x0) * (part - y0) / (y1 - y0);
  }
  return 0;
}

}  // namespace

void measure_l2_reuse(Microbench& bench) {
  const DeviceBuffer pool(pool_bytes);
  check_cuda(cudaMemset(pool.get(), 0, pool.size()), "cudaMemset");
  for (const bool store : {false, true}) {
    const MicrobenchCurve curve = reuse_curve(bench, pool, store, false);
    bench.add_curve(curve);
    bench.add_curve(reuse_curve(bench, pool, store, true));
    for (int percent = 5; percent < 100; percent += 10)
      if (const double bytes = crossing(rising(curve.points), percent / 100.0); bytes > 0)
        bench.add((store ? "l2.written.p" : "l2.gone.p") + std::to_string(percent), {bytes},
                  store ? "16 consecutive ranges, each SM stores a part"
                        : "per partition; mean of 8 sets of 4 ranges and 8 sets of 8 ranges, read by all SMs in step");
  }
}

}  // namespace tilescope::validate
