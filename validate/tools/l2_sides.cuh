// What microbenchmarks of the L2 share that place their blocks by the side of the L2 on which their SM lies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace tilescope::l2 {

constexpr int probes = 256;

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

__device__ inline int own_sm() {
  int id = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// One thread of SM `sm`: clocks of a load of each line.
static __global__ void each_line(const char* data, int sm, unsigned* clocks) {
  if (threadIdx.x != 0 || own_sm() != sm) return;
  unsigned offset = 0, all = 0;
  for (int i = 0; i < probes; ++i) {
    unsigned value;
    const long long begin = clock64();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(data + i * 128 + offset) : "memory");
    offset = value & 1u;  // zero, but the next load depends on it
    all += static_cast<unsigned>(clock64() + offset - begin);
  }
  clocks[sm] = all;
}

// All of the blocks that take part wait for each other: `target` arrivals since the count was zero.
__device__ inline void all_arrive(unsigned* count, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (*reinterpret_cast<volatile unsigned*>(count) < target) {
    }
  }
  __syncthreads();
}

// Zeroed memory of the device.
inline char* allocated(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, bytes)), check(cudaMemset(data, 0, bytes));
  return static_cast<char*>(data);
}

// The SMs of each side. SM 0 loads lines, and each SM loads the same after it: from the other side half of them are
// far.
inline std::array<std::vector<int>, 2> sms_by_side(const char* lines, int units) {
  unsigned* const clocks = reinterpret_cast<unsigned*>(allocated(8 * std::size_t(units)));
  for (int again = 0; again < 2; ++again)  // the first time code is fetched
    for (int sm = 0; sm < units; ++sm) {
      const char* const own = lines + std::size_t(again * units + sm) * probes * 128;
      each_line<<<units, 1024>>>(own, 0, clocks + units);
      each_line<<<units, 1024>>>(own, sm, clocks);
    }
  std::vector<unsigned> found(units);
  check(cudaMemcpy(found.data(), clocks, 4 * std::size_t(units), cudaMemcpyDeviceToHost));
  std::vector<unsigned> sorted = found;
  std::sort(sorted.begin(), sorted.end());
  const unsigned low = sorted[units / 8], high = sorted[units - units / 8];
  std::array<std::vector<int>, 2> side;
  for (int sm = 0; sm < units; ++sm) side[found[sm] > (low + high) / 2].push_back(sm);
  std::fprintf(stderr, "sides %zu %zu clocks %u %u\n", side[0].size(), side[1].size(), low / probes, high / probes);
  return side;
}

}  // namespace tilescope::l2
