// What memory gives of reads and writes together: tiles that threads copy from one or two arrays, and store where they
// were read, to another array, or not at all, with one to three blocks an SM.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o mixed_traffic
//   validate/tools/sm_rules/mixed_traffic.cu && ./mixed_traffic [MiB of an array]
// 128 threads a block, copies of 16 B; the next tile is on its way while a block is at one. No tile is read twice.
// Prints a line a case: GB/s of reads and writes together.
#include <algorithm>
#include <vector>

#include "set_up.cuh"

constexpr int threads = 128, units = 132;

enum Stores { none, in_place, elsewhere };

__global__ void __launch_bounds__(threads, 4)
    stream(const unsigned char* a, unsigned char* b, unsigned char* c, int bytes, int arrays, int stores, int steps) {
  extern __shared__ __align__(128) unsigned char dynamic[];
  const int stage_bytes = 2 * bytes;
  const auto load = [&](int step) {
    const std::size_t at = (std::size_t(step) * gridDim.x + blockIdx.x) * bytes;
    const unsigned to = shared_at(dynamic) + (step & 1) * stage_bytes + threadIdx.x * 16;
    if (step < steps)
      for (int i = 0; i < bytes; i += threads * 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i), "l"(b + at + threadIdx.x * 16 + i)
                     : "memory");
        if (arrays > 1)
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + bytes + i),
                       "l"(a + at + threadIdx.x * 16 + i)
                       : "memory");
      }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  load(0);
  for (int step = 0; step < steps; ++step) {
    load(step + 1);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    const std::size_t at = (std::size_t(step) * gridDim.x + blockIdx.x) * bytes;
    unsigned char* const to = stores == in_place ? b : c;
    if (stores != none)
      for (int i = 0; i < bytes; i += threads * 16)
        *reinterpret_cast<int4*>(to + at + threadIdx.x * 16 + i) =
            *reinterpret_cast<int4*>(dynamic + (step & 1) * stage_bytes + threadIdx.x * 16 + i);
    __syncthreads();
  }
}

int main(int count, char** words) {
  const std::size_t array_bytes = std::size_t(count > 1 ? std::atoi(words[1]) : 3072) << 20;
  begin(1);
  unsigned char *a, *b, *c;
  for (unsigned char** each : {&a, &b, &c}) {
    CHECK(cudaMalloc(each, array_bytes));
    CHECK(cudaMemset(*each, 0, array_bytes));
  }
  CHECK(cudaFuncSetAttribute(stream, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  std::printf("arrays stores bytes blocks: GB/s\n");
  constexpr const char* names[] = {"none", "in_place", "elsewhere"};
  for (const int arrays : {1, 2})
    for (const int stores : {none, in_place, elsewhere})
      for (const int bytes : {4096, 16384})
        for (const int blocks : {1, 2, 3}) {
          const int grid = units * blocks, steps = static_cast<int>(array_bytes / bytes / grid);
          std::vector<float> times;
          for (int run = 0; run < 4; ++run) {
            CHECK(cudaEventRecord(from));
            stream<<<grid, threads, 4 * bytes>>>(a, b, c, bytes, arrays, stores, steps);
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(to));
            CHECK(cudaEventSynchronize(to));
            float ms = 0;
            CHECK(cudaEventElapsedTime(&ms, from, to));
            if (run > 0) times.push_back(ms);
          }
          std::sort(times.begin(), times.end());
          const double moved = double(steps) * grid * bytes * (arrays + (stores != none));
          std::printf("%d %s %d %d: %.0f\n", arrays, names[stores], bytes, blocks, moved / times[1] / 1e6);
        }
}
