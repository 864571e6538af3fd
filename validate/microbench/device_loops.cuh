// Loops over global memory for several topics: 16 bytes per thread and load, bypassing L1, eight loads in flight.
#pragma once

#include "validate/microbench/memory/span.cuh"

namespace tilescope::validate {

constexpr int loads_in_flight = 8;

__device__ __forceinline__ uint4 load_16(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v;
}

// Starts a copy of 16 bytes into shared memory.
__device__ __forceinline__ void copy_16(unsigned to, const char* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Reads `count` vectors `rounds` times: all of them in every block, or (own) block b those from b * count on.
struct ReadLoop {
  const uint4* from;
  std::size_t count;  // a multiple of threads * loads_in_flight
  bool own;
  std::size_t stagger = 0;  // block b begins b * stagger vectors into its range and wraps
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    const uint4* mine = from + (own ? blockIdx.x * count : 0);
    const std::size_t first = blockIdx.x * stagger % count;
    unsigned x = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      std::size_t i = first;
#pragma unroll 1
      for (std::size_t done = 0; done < count; done += blockDim.x * loads_in_flight) {
        uint4 v[loads_in_flight];
#pragma unroll
        for (int j = 0; j < loads_in_flight; ++j) v[j] = load_16(mine + i + j * blockDim.x + threadIdx.x);
#pragma unroll
        for (int j = 0; j < loads_in_flight; ++j) x ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
        i += blockDim.x * loads_in_flight;
        if (i >= count) i = 0;
      }
    }
    watch.stop();
    return x;
  }
};

struct WriteLoop {
  uint4* to;
  std::size_t count;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    uint4* mine = to + blockIdx.x * count;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 4
      for (std::size_t i = threadIdx.x; i < count; i += blockDim.x)
        asm volatile("st.global.v4.u32 [%0], {%1,%2,%1,%2};" ::"l"(mine + i), "r"(round), "r"(threadIdx.x) : "memory");
    }
    watch.stop();
    return 0;
  }
};

// Seconds of what `enqueue` puts on the default stream, by events.
template <class Enqueue>
double event_seconds(Enqueue enqueue) {
  cudaEvent_t start, stop;
  check_cuda(cudaEventCreate(&start), "cudaEventCreate");
  check_cuda(cudaEventCreate(&stop), "cudaEventCreate");
  check_cuda(cudaEventRecord(start), "cudaEventRecord");
  enqueue();
  check_cuda(cudaEventRecord(stop), "cudaEventRecord");
  check_cuda(cudaEventSynchronize(stop), "running a microbenchmark");
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
  cudaEventDestroy(start), cudaEventDestroy(stop);
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace tilescope::validate
