// Which places of SMs a launch's last blocks take: two (or four) equal blocks are resident on an SM, and a launch has a
// part of a wave more than places. Blocks copy pieces from the L2 into two stages and multiply, by wgmma or mma.sync,
// with special functions, maxima and multiply-adds between; a copying warp of its own asks ahead (`producer`) or the
// block's first thread does. Work comes as blocks of a grid or is claimed by blocks that stay (`claims`).
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o last_places
//   validate/tools/sm_rules/last_places.cu
//   ./last_places > validate/tools/sm_rules/last_places_h100.txt
// Prints a line a case, medians of the launches. Of the first wave: how long a block takes, by how much the ends of an
// SM's blocks differ, and the standard deviation of their mean over SMs (all in ns). Of the last, partial wave: SMs by
// how many of its blocks they took.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "common/wgmma.cuh"

namespace {

using namespace tilescope::kernels::device;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

constexpr int piece = 16384, data_pieces = 1024, stages = 2;

struct Mark {
  unsigned long long begin, end;
  unsigned unit;
};

struct Launch {
  const unsigned char* data;
  Mark* marks;
  unsigned* claimed;
  unsigned* sink;
  int tiles, steps;
};

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}
__device__ __forceinline__ unsigned own_sm() {
  unsigned unit;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
  return unit;
}

// `each` values: as many special functions, four maxima and two multiply-adds.
template <int each>
__device__ __forceinline__ void pointwise(float* v, float x) {
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int i = 0; i < each; ++i) asm volatile("max.f32 %0, %0, %1;" : "+f"(v[i]) : "f"(x));
#pragma unroll
  for (int k = 0; k < 2; ++k)
#pragma unroll
    for (int i = 0; i < each; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(v[i]) : "f"(x));
#pragma unroll
  for (int i = 0; i < each; ++i) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v[i]));
}

// Products of a warpgroup: 64 x n scores, pointwise work on them, 64 x 128 results.
template <int n>
struct ByWgmma {
  float s[n / 2], o[64];
  __device__ __forceinline__ void start() {
    for (float& each : s) each = 0;
    for (float& each : o) each = 0;
  }
  __device__ __forceinline__ void step(std::uint32_t stage) {
    const std::uint64_t b = k_major(stage);
    std::uint32_t p[4] = {0x2c002c00u + threadIdx.x, 0x2c012c00u, 0x2c002c03u, 0x2c012c05u};
    pin(s), pin(o);
    fence_operands();
#pragma unroll
    for (int i = 0; i < 8; ++i)
      Wgmma<n>::template ss<__half>(s, step_descriptor(b, i % 4 * 32), step_descriptor(b, i % 4 * 32), i > 0);
    commit_products();
    wait_products<0>();
    pin(s);
    pointwise<n / 2>(s, 0.5f);
    pin(s);
    fence_operands();
#pragma unroll
    for (int i = 0; i < n / 16; ++i) Wgmma<128>::template rs<__half>(o, p, step_descriptor(b, i % 4 * 32), 1);
    commit_products();
    wait_products<0>();
    pin(o);
  }
  __device__ __forceinline__ unsigned all() {
    float sum = 0;
    for (float each : s) sum += each;
    for (float each : o) sum += each;
    return __float_as_uint(sum);
  }
};

// Products of a warp, by mma.sync: `products` instructions, a third of them before the pointwise work on n values.
template <int n, int products>
struct ByMma {
  float s[n], c[8][4];
  __device__ __forceinline__ void start() {
    for (auto& each : c)
      for (float& value : each) value = 0;
    for (float& each : s) each = 0;
  }
  __device__ __forceinline__ void multiply(std::uint32_t at, int count) {
    unsigned b[4] = {};
    const unsigned a[4] = {threadIdx.x, 1, 2, 3};
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (i % 2 == 0)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                     : "r"(at + i / 2 % 16 * 512)
                     : "memory");
      float(&d)[4] = c[i % 8];
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[i % 2 * 2]), "r"(b[i % 2 * 2 + 1]));
    }
  }
  __device__ __forceinline__ void step(std::uint32_t stage) {
    const std::uint32_t at = stage + threadIdx.x % 32 * 16;
    multiply(at, products / 2);
    pointwise<n>(s, c[0][0] + 0.5f);
    multiply(at, products / 2);
  }
  __device__ __forceinline__ unsigned all() {
    float sum = 0;
    for (auto& each : c)
      for (float value : each) sum += value;
    for (float each : s) sum += each;
    return __float_as_uint(sum);
  }
};

// Shared memory: two stages, then full and empty barriers of each, and the next tile with its two barriers.
template <class Work, int warps, bool producer, bool claims, int resident>
__global__ void __launch_bounds__(32 * (warps + (producer ? 4 : 0)), resident) work_kernel(Launch launch) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  const std::uint32_t base = (static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic)) + 1023) & ~1023u;
  const std::uint32_t full = base + stages * piece, empty = full + 8 * stages;
  __shared__ volatile int next;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) init_barrier(full + 8 * i, 1), init_barrier(empty + 8 * i, warps);
    fence_barrier_init();
  }
  __syncthreads();
  const auto copy = [&](int tile, int step, int at) {
    const unsigned stage = static_cast<unsigned>(at % stages);
    arrive_expect(full + 8 * stage, piece);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     base + stage * piece),
                 "l"(launch.data + (tile * 37 + step) % data_pieces * std::int64_t{piece}), "r"(piece),
                 "r"(full + 8 * stage)
                 : "memory");
  };
  int at = 0;  // steps of all tiles
  const auto each_tile = [&](auto run) {
    for (int tile = static_cast<int>(blockIdx.x); tile < launch.tiles;) {
      const unsigned long long begin = nanoseconds();
      run(tile);
      __syncthreads();
      if (threadIdx.x == 0) {
        launch.marks[tile] = {begin, nanoseconds(), own_sm()};
        next = claims ? static_cast<int>(atomicAdd(launch.claimed, 1u) + gridDim.x) : launch.tiles;
      }
      __syncthreads();
      tile = next;
      __syncthreads();
    }
  };
  if (producer && warp >= warps) {
    give_up_registers<40>();
    each_tile([&](int tile) {
      if (static_cast<int>(threadIdx.x) == 32 * warps)
        for (int step = 0; step < launch.steps; ++step) {
          wait_barrier(empty + 8 * static_cast<unsigned>((at + step) % stages), ((at + step) / stages & 1) ^ 1);
          copy(tile, step, at + step);
        }
      at += launch.steps;
    });
    return;
  }
  if (producer) take_registers<200>();
  Work work;
  work.start();
  each_tile([&](int tile) {
    if (!producer && threadIdx.x == 0)
      for (int i = 0; i < stages; ++i) copy(tile, i, at + i);
    for (int step = 0; step < launch.steps; ++step, ++at) {
      const unsigned stage = static_cast<unsigned>(at % stages);
      wait_barrier(full + 8 * stage, at / stages & 1);
      work.step(base + stage * piece);
      if (producer) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(empty + 8 * stage);
      } else {
        __syncthreads();
        if (threadIdx.x == 0 && step + stages < launch.steps) copy(tile, step + stages, at + stages);
      }
    }
  });
  const unsigned all = work.all();
  if (all == 0x7fedcba9u) *launch.sink = all;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Memory {
  unsigned char* data = nullptr;
  Mark* marks = nullptr;
  unsigned* counters = nullptr;
};

// Of each launch of a case.
struct Seen {
  std::vector<double> length, apart, between, total, took[5];

  // `places` blocks run at once; the last ones begin at `first_of_last`.
  void add(const std::vector<Mark>& marks, int places, int first_of_last, int units) {
    std::map<unsigned, std::vector<double>> ends;
    std::map<unsigned, int> last;
    double sum = 0, first = 1e30, end = 0;
    for (int tile = 0; tile < static_cast<int>(marks.size()); ++tile) {
      const Mark& mark = marks[static_cast<std::size_t>(tile)];
      if (tile < places) {
        ends[mark.unit].push_back(static_cast<double>(mark.end - marks[0].begin));
        sum += static_cast<double>(mark.end - mark.begin) / places;
      }
      if (tile >= first_of_last) ++last[mark.unit];
      first = std::min(first, static_cast<double>(mark.begin)), end = std::max(end, static_cast<double>(mark.end));
    }
    const auto each_unit = static_cast<double>(ends.size());
    double differ = 0, mean = 0, square = 0;
    for (auto& [unit, of] : ends) {
      const auto [least, most] = std::minmax_element(of.begin(), of.end());
      differ += (*most - *least) / each_unit;
      double own = 0;
      for (const double one : of) own += one / static_cast<double>(of.size());
      mean += own / each_unit, square += own * own / each_unit;
    }
    int by_count[5] = {units - static_cast<int>(last.size())};
    for (const auto& [unit, count] : last) ++by_count[std::min(count, 4)];
    for (int k = 0; k < 5; ++k) took[k].push_back(by_count[k]);
    length.push_back(sum), apart.push_back(differ), total.push_back(end - first);
    between.push_back(std::sqrt(std::max(0.0, square - mean * mean)));
  }
};

template <class Work, int warps, bool producer, bool claims, int resident = 2>
void cases(const char* name, const Memory& memory, int units) {
  const auto kernel = work_kernel<Work, warps, producer, claims, resident>;
  const int shared = resident == 2 ? 100 << 10 : 50 << 10, places = units * resident;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  constexpr int threads = 32 * (warps + (producer ? 4 : 0)), launches = 15, warm_up = 2;
  int fit = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, threads, shared));
  if (fit != resident) {
    std::fprintf(stderr, "%s: %d blocks fit, not %d\n", name, fit, resident);
    return;
  }
  const auto one_case = [&](int steps, int waves, int left) {
    const int tiles = waves * places + left;
    Seen seen;
    for (int i = 0; i < launches + warm_up; ++i) {
      check(cudaMemset(memory.counters, 0, 4));
      kernel<<<claims ? places : tiles, threads, shared>>>(
          {memory.data, memory.marks, memory.counters, memory.counters + 1, tiles, steps});
      check(cudaGetLastError());
      std::vector<Mark> marks(static_cast<std::size_t>(tiles));
      check(cudaMemcpy(marks.data(), memory.marks, sizeof(Mark) * marks.size(), cudaMemcpyDeviceToHost));
      if (i >= warm_up) seen.add(marks, places, waves * places, units);
    }
    std::printf(
        "%s, %d an SM, %d steps, %d waves and %d: %.0f ns a block, %.0f in all; ends of an SM's blocks %.0f ns "
        "apart, of SMs %.0f; SMs that took 0 to 4: %.0f %.0f %.0f %.0f %.0f\n",
        name, resident, steps, waves, left, median(seen.length), median(seen.total), median(seen.apart),
        median(seen.between), median(seen.took[0]), median(seen.took[1]), median(seen.took[2]), median(seen.took[3]),
        median(seen.took[4]));
  };
  for (const int steps : {40, 200})
    for (const int waves : {1, 3})
      for (const int left : {44, 88, 120}) one_case(steps, waves, left);
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  Memory memory;
  check(cudaMalloc(&memory.data, std::size_t{piece} * data_pieces));
  check(cudaMemset(memory.data, 0x2c, std::size_t{piece} * data_pieces));
  check(cudaMalloc(&memory.marks, sizeof(Mark) * 4096));
  check(cudaMalloc(&memory.counters, 64));
  const int units = device.multiProcessorCount;
  std::printf("%s, %d SMs\n", device.name, units);
  cases<ByWgmma<64>, 4, true, true>("wgmma 64x64, 1 warpgroup, producer, claims", memory, units);
  cases<ByWgmma<128>, 4, true, true>("wgmma 64x128, 1 warpgroup, producer, claims", memory, units);
  cases<ByWgmma<64>, 4, true, false>("wgmma 64x64, 1 warpgroup, producer, grid", memory, units);
  cases<ByWgmma<64>, 4, false, false>("wgmma 64x64, 1 warpgroup, grid", memory, units);
  cases<ByWgmma<128>, 4, false, false>("wgmma 64x128, 1 warpgroup, grid", memory, units);
  cases<ByWgmma<64>, 8, false, false>("wgmma 64x64, 2 warpgroups, grid", memory, units);
  cases<ByMma<16, 64>, 4, false, false>("mma 64 and 16 values, 4 warps, grid", memory, units);
  cases<ByMma<32, 64>, 4, false, false>("mma 64 and 32 values, 4 warps, grid", memory, units);
  cases<ByMma<32, 128>, 4, false, false>("mma 128 and 32 values, 4 warps, grid", memory, units);
  cases<ByMma<16, 64>, 8, false, false>("mma 64 and 16 values, 8 warps, grid", memory, units);
  cases<ByMma<32, 64>, 8, false, false>("mma 64 and 32 values, 8 warps, grid", memory, units);
  cases<ByMma<32, 128>, 8, false, false>("mma 128 and 32 values, 8 warps, grid", memory, units);
  cases<ByMma<32, 64>, 4, false, true>("mma 64 and 32 values, 4 warps, claims", memory, units);
  cases<ByMma<32, 64>, 4, true, true>("mma 64 and 32 values, 4 warps, producer, claims", memory, units);
  cases<ByMma<16, 64>, 4, false, false, 4>("mma 64 and 16 values, 4 warps, grid", memory, units);
  cases<ByMma<32, 64>, 4, false, false, 4>("mma 64 and 32 values, 4 warps, grid", memory, units);
}
