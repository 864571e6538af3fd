// Rules of the simulated SM: how long a load of shared memory takes behind what the same warps bring to memory.
//   nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I kernels -o leaving
//   validate/tools/sm_rules/leaving.cu && ./leaving
// Each warp of a block brings n times 16 bytes a thread to memory of its own, by sums, by stores or to local memory, or
// n times 4 bytes by sums, then loads a word of shared memory and waits for it. Before each of 50 times all warps sleep
// until the way is free. Prints a line a case: n, blocks (one SM each), warps of a block; clocks from the first of the
// n instructions until the last one is issued, and until the load's result is there: mean of all warps, and the last
// warp's.
#include <algorithm>
#include <vector>

#include "set_up.cuh"

enum Kind { sum, store, spill, word_sum, kinds };
constexpr const char* kind_names[] = {"sum", "store", "local store", "sum of 4 bytes"};
constexpr int most = 64, times = 50;

struct Row {
  unsigned issued, loaded;
};

template <int kind, int n>
__global__ void __launch_bounds__(512) leave(float4* memory, unsigned* out) {
  __shared__ float words[1024];
  words[threadIdx.x] = 1;
  const std::uint32_t word = shared_at(&words[threadIdx.x]);
  float4 own[most];
  float4* to = memory + (static_cast<std::size_t>(blockIdx.x) * most) * blockDim.x + threadIdx.x;
  unsigned issued = 0, loaded = 0;
  float all = 0;
  for (int i = 0; i < times; ++i) {
    __syncthreads();
    __nanosleep(8000);
    __syncthreads();
    const unsigned start = now();
#pragma unroll
    for (int j = 0; j < n; ++j) {
      float4* at = kind == spill ? &own[j] : to + static_cast<std::size_t>(j) * blockDim.x;
      if constexpr (kind == sum)
        asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(at), "f"(1.0f) : "memory");
      if constexpr (kind == word_sum)
        asm volatile("red.global.add.f32 [%0], %1;" ::"l"(reinterpret_cast<float*>(to) - 3 * threadIdx.x +
                                                          static_cast<std::size_t>(j) * blockDim.x * 4),
                     "f"(1.0f)
                     : "memory");
      if constexpr (kind == store)
        asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(at), "f"(1.0f) : "memory");
      if constexpr (kind == spill)
        asm volatile("{.reg .u64 at; cvta.to.local.u64 at, %0; st.local.v4.f32 [at], {%1, %1, %1, %1};}" ::"l"(at),
                     "f"(1.0f)
                     : "memory");
    }
    const unsigned behind = now();
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(word) : "memory");
    all += value;
    if (all < 0) to->x = all;
    loaded += now() - start, issued += behind - start;
  }
  if (all < 0) *out = static_cast<unsigned>(own[threadIdx.x % most].x);
  if (threadIdx.x % 32 != 0) return;
  Row* row = reinterpret_cast<Row*>(out) + (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  *row = {issued / times, loaded / times};
}

template <int kind, int n>
void print(int blocks, int warps, float4* memory, unsigned* out) {
  for (int i = 0; i < 2; ++i) leave<kind, n><<<blocks, warps * 32>>>(memory, out);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<Row> rows(static_cast<std::size_t>(blocks * warps));
  CHECK(cudaMemcpy(rows.data(), out, rows.size() * sizeof(Row), cudaMemcpyDeviceToHost));
  double issued = 0, loaded = 0;
  unsigned last = 0;
  for (const Row& row : rows) issued += row.issued, loaded += row.loaded, last = std::max(last, row.loaded);
  const auto count = static_cast<double>(rows.size());
  std::printf("%s, n %d, %d blocks, %d warps: %.1f %.1f %u\n", kind_names[kind], n, blocks, warps, issued / count,
              loaded / count, last);
}

template <int kind>
void print_all(float4* memory, unsigned* out) {
  for (const int blocks : {1, 132})
    for (const int warps : {1, 2, 4, 8, 16}) {
      print<kind, 0>(blocks, warps, memory, out), print<kind, 1>(blocks, warps, memory, out);
      print<kind, 4>(blocks, warps, memory, out), print<kind, 8>(blocks, warps, memory, out);
      print<kind, 16>(blocks, warps, memory, out), print<kind, 32>(blocks, warps, memory, out);
      print<kind, 64>(blocks, warps, memory, out);
    }
}

int main() {
  constexpr int most_threads = 132 * 512;
  unsigned* out = begin(most_threads);
  float4* memory = nullptr;
  CHECK(cudaMalloc(&memory, sizeof(float4) * most * most_threads));
  CHECK(cudaMemset(memory, 0, sizeof(float4) * most * most_threads));
  print_all<sum>(memory, out), print_all<store>(memory, out), print_all<spill>(memory, out);
  print_all<word_sum>(memory, out);
}
