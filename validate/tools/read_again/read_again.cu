// What the L2 still has of data that each launch reads once, launch after launch, against its bytes: the time of a
// launch, and, under Nsight Compute, the bytes that come from memory. Prints a line of JSON a case:
//   nvcc -O3 -std=c++20 -arch=sm_90a -o read_again validate/tools/read_again/read_again.cu
//   ./read_again
//   ncu --cache-control none --clock-control none -k regex:counted --csv --metrics dram__bytes_read.sum ./read_again 1
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace {

constexpr int in_flight = 8;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

// A block reads one part of the data, `vectors` of 16 bytes, 8 loads of a thread in flight.
__device__ __forceinline__ void read_part(const uint4* data, std::int64_t vectors, int part, unsigned* sink) {
  const uint4* const from = data + part * vectors;
  unsigned sum = 0;
  for (std::int64_t i = threadIdx.x; i < vectors; i += std::int64_t(blockDim.x) * in_flight) {
    uint4 v[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      const std::int64_t at = i + std::int64_t(j) * blockDim.x;
      v[j] = at < vectors ? from[at] : uint4{};
    }
#pragma unroll
    for (int j = 0; j < in_flight; ++j) sum += v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
  }
  if (sum == 12345u) *sink = sum;
}

__global__ void timed(const uint4* data, std::int64_t vectors, int shift, unsigned* sink) {
  read_part(data, vectors, static_cast<int>((blockIdx.x + shift) % gridDim.x), sink);
}
__global__ void counted(const uint4* data, std::int64_t vectors, int shift, unsigned* sink) {
  read_part(data, vectors, static_cast<int>((blockIdx.x + shift) % gridDim.x), sink);
}

struct Shape {
  const char* name;
  int blocks_a_unit, threads, shared_bytes, shift;  // shift: places that a launch's blocks move on from the last one's
};
constexpr Shape shapes[] = {{"a block an SM", 1, 512, 120 << 10, 0},
                            {"4 blocks an SM", 4, 256, 40 << 10, 0},
                            {"4 blocks an SM one after the other", 4, 512, 120 << 10, 0},
                            {"16 blocks an SM, 4 at a time", 16, 256, 40 << 10, 0},
                            {"a block an SM, on another SM each time", 1, 512, 120 << 10, 37}};

}  // namespace

int main(int count, char**) {
  constexpr int warm_up = 6, launches = 30;
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  const int units = device.multiProcessorCount;
  constexpr std::int64_t all = std::int64_t{192} << 20;
  void* data = nullptr;
  unsigned* sink = nullptr;
  check(cudaMalloc(&data, all));
  check(cudaMalloc(&sink, 4));
  check(cudaMemset(data, 1, all));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  for (const Shape& shape : shapes) {
    check(cudaFuncSetAttribute(timed, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes));
    check(cudaFuncSetAttribute(counted, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes));
    const int blocks = units * shape.blocks_a_unit;
    for (int mib = 20; mib <= 160; mib += mib < 36 ? 8 : mib < 72 ? 1 : 16) {
      const std::int64_t vectors = (std::int64_t(mib) << 20) / 128 / blocks * 8;  // whole lines
      int shift = 0;
      const auto launch = [&](bool is_counted) {
        (is_counted ? counted : timed)<<<blocks, shape.threads, shape.shared_bytes>>>(static_cast<const uint4*>(data),
                                                                                      vectors, shift, sink);
        shift += shape.shift;
      };
      for (int i = 0; i < warm_up; ++i) launch(false);
      float milliseconds = 0;
      if (count > 1) {
        launch(true);
        check(cudaDeviceSynchronize());
      } else {
        check(cudaEventRecord(begin));
        for (int i = 0; i < launches; ++i) launch(false);
        check(cudaEventRecord(end));
        check(cudaEventSynchronize(end));
        check(cudaEventElapsedTime(&milliseconds, begin, end));
      }
      check(cudaGetLastError());
      std::printf("{\"gpu\": \"%s\", \"blocks\": \"%s\", \"bytes\": %lld, \"us\": %.3f}\n", device.name, shape.name,
                  static_cast<long long>(vectors * 16 * blocks), milliseconds * 1e3 / launches);
    }
  }
}
