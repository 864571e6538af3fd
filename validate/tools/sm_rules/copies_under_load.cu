// How long threads wait for a tile that they copy from memory, by the load on memory: tiles of one or two arrays, with
// and without stores to the second one, while 1 to 132 SMs do the same.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o copies_under_load
//   validate/tools/sm_rules/copies_under_load.cu && ./copies_under_load
// A block an SM, 128 threads, copies of 16 B, one tile at a time, then `work` clocks. No tile is read twice. Before
// each case the L2 is filled: with lines that were read (clean) or written (dirty). Prints a line a case: clocks from
// before the first copy is issued until all threads have seen the tile, mean of all blocks, and bytes a clock of the
// device.
#include <algorithm>
#include <numeric>
#include <vector>

#include "set_up.cuh"

constexpr int threads = 128, steps = 256;

__global__ void __launch_bounds__(threads, 1) copy(const unsigned char* a, unsigned char* b, int bytes, int arrays,
                                                   int stores, int work, unsigned* waited, unsigned* all) {
  extern __shared__ __align__(128) unsigned char dynamic[];
  const unsigned to = shared_at(dynamic) + threadIdx.x * 16;
  const auto load = [&](unsigned at, const unsigned char* from) {
    for (int i = 0; i < bytes; i += threads * 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + i), "l"(from + threadIdx.x * 16 + i)
                   : "memory");
  };
  unsigned sum = 0;
  const unsigned begin = now();
  while (now() - begin < 20000) {
  }
  const unsigned first = now();
  for (int step = 0; step < steps; ++step) {
    const std::size_t at = (std::size_t(blockIdx.x) * steps + step) * bytes;
    const unsigned start = now();
    load(to, a + at);
    if (arrays > 1) load(to + bytes, b + at);
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    const unsigned seen = now();
    sum += seen - start;
    while (static_cast<int>(now() - seen) < work) {
    }
    if (stores)
      for (int i = 0; i < bytes; i += threads * 16)
        *reinterpret_cast<int4*>(b + at + threadIdx.x * 16 + i) =
            *reinterpret_cast<int4*>(dynamic + threadIdx.x * 16 + i);
  }
  if (threadIdx.x == 0) waited[blockIdx.x] = sum, all[blockIdx.x] = now() - first;
}

__global__ void read(const int4* from, std::size_t count, int* sink) {
  int sum = 0;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += from[i].x;
  if (sum == 12345) *sink = sum;
}

int main() {
  constexpr std::size_t most = std::size_t(132) * steps * 16384, flushed = 256 << 20;
  unsigned char *a, *b, *other;
  unsigned *const waited = begin(512), *const all = waited + 256;
  CHECK(cudaMalloc(&a, most));
  CHECK(cudaMalloc(&b, most));
  CHECK(cudaMalloc(&other, flushed));
  CHECK(cudaMemset(a, 0, most));
  CHECK(cudaMemset(b, 0, most));
  CHECK(cudaFuncSetAttribute(copy, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 << 10));
  std::printf("bytes arrays stores l2 work blocks: waited clk, B/clk of reads\n");
  for (const int bytes : {2048, 4096, 8192, 16384})
    for (const int arrays : {1, 2})
      for (const int stores : {0, 1})
        for (const int dirty : {0, 1})
          for (const int work : {0, 1000, 2000})
            for (const int blocks : {1, 16, 64, 96, 132}) {
              if (stores && arrays == 1) continue;
              double mean_wait = 0, mean_all = 0;
              for (int run = 0; run < 3; ++run) {
                if (dirty) CHECK(cudaMemset(other, run, flushed));
                else read<<<264, 512>>>(reinterpret_cast<int4*>(other), flushed / 16, reinterpret_cast<int*>(all));
                copy<<<blocks, threads, 120 << 10>>>(a, b, bytes, arrays, stores, work, waited, all);
                CHECK(cudaDeviceSynchronize());
                std::vector<unsigned> w(blocks), t(blocks);
                CHECK(cudaMemcpy(w.data(), waited, blocks * 4, cudaMemcpyDeviceToHost));
                CHECK(cudaMemcpy(t.data(), all, blocks * 4, cudaMemcpyDeviceToHost));
                if (run == 0) continue;
                mean_wait += std::accumulate(w.begin(), w.end(), 0.0) / blocks / steps / 2;
                mean_all += std::accumulate(t.begin(), t.end(), 0.0) / blocks / steps / 2;
              }
              std::printf("%d %d %d %s %d %d: %.0f %.1f\n", bytes, arrays, stores, dirty ? "dirty" : "clean", work,
                          blocks, mean_wait, double(bytes) * arrays * blocks / mean_all);
            }
}
