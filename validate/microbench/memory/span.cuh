// Timing inside one SM. A body runs in every block, and each warp records the clock before and after it. A block's time
// is from its first warp's start to its last warp's end. The cost of a round is the difference between runs of R and 2
// R rounds divided by R, so that start-up, fill and drain cancel.
//
// A body is a struct with  __device__ unsigned operator()(unsigned char* shared, int rounds, Stopwatch& watch) const
// which calls watch.start() when its inputs are ready and watch.stop() at its end, and returns a value that depends on
// all of its results; otherwise the assembler would remove the work.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "validate/measure/cuda_check.h"
#include "validate/measure/device_work.h"
#include "validate/microbench/bench.h"

namespace tilescope::validate {

struct Span {
  long long begin, end;                 // SM clocks
  unsigned long long begin_ns, end_ns;  // of the GPU's own timer
};

__device__ __forceinline__ unsigned long long timer_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ __forceinline__ unsigned own_sm() {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

__device__ __forceinline__ unsigned address_of(const unsigned char* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

struct Stopwatch {
  Span span{};
  __device__ __forceinline__ void start() {
    __syncthreads();
    span.begin_ns = timer_ns();
    span.begin = clock64();
  }
  __device__ __forceinline__ void stop() {
    span.end = clock64();
    span.end_ns = timer_ns();
  }
};

template <class Body>
__global__ void __launch_bounds__(1024)
    timed_kernel(const __grid_constant__ Body body, int rounds, Span* spans, unsigned* sink) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Stopwatch watch;
  const unsigned result = body(shared, rounds, watch);
  if (result == 0x7fedcba9u) *sink = result;  // never true, but the compiler cannot know it
  if (threadIdx.x % 32 == 0) spans[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = watch.span;
}

// A body that needs many registers declares its block size as `static constexpr int threads`.
template <class Body>
__global__ void __launch_bounds__(Body::threads, 1)
    wide_kernel(const __grid_constant__ Body body, int rounds, Span* spans, unsigned* sink) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Stopwatch watch;
  const unsigned result = body(shared, rounds, watch);
  if (result == 0x7fedcba9u) *sink = result;
  if (threadIdx.x % 32 == 0) spans[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = watch.span;
}

struct Shape {
  int blocks = 1, threads = 32, shared_bytes = 0;
  int cluster = 1;  // consecutive blocks that run together in one GPC; above 1 only on Hopper and later
};

template <class Body>
auto kernel_of() {
  if constexpr (requires { Body::threads; }) return &wide_kernel<Body>;
  else return &timed_kernel<Body>;
}

template <class Body>
void launch_timed(const Body& body, Shape shape, int rounds, Span* spans, unsigned* sink) {
  const auto kernel = kernel_of<Body>();
  if (shape.shared_bytes > 48 * 1024) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes),
               "cudaFuncSetAttribute");
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(shape.cluster), cluster.val.clusterDim.y = 1,
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks)),
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.attrs = &cluster, config.numAttrs = shape.cluster > 1 ? 1 : 0;
  check_cuda(cudaLaunchKernelEx(&config, kernel, body, rounds, spans, sink), "launching a microbenchmark");
  check_cuda(cudaGetLastError(), "launching a microbenchmark");
}

struct RunTime {
  double cycles = 0;  // of a block, median over blocks
  double clock_hz = 0;
};

template <class Body>
RunTime run_timed(const Body& body, Shape shape, int rounds) {
  const int warps = (shape.threads + 31) / 32, count = shape.blocks * warps;
  DeviceBuffer memory(sizeof(Span) * static_cast<std::size_t>(count) + 16);
  Span* spans = static_cast<Span*>(memory.get());
  launch_timed(body, shape, rounds, spans, reinterpret_cast<unsigned*>(spans + count));
  check_cuda(cudaDeviceSynchronize(), "running a microbenchmark");
  std::vector<Span> host(static_cast<std::size_t>(count));
  check_cuda(cudaMemcpy(host.data(), spans, sizeof(Span) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::vector<double> cycles, clocks;
  for (int block = 0; block < shape.blocks; ++block) {
    Span all = host[static_cast<std::size_t>(block * warps)];
    for (int warp = 1; warp < warps; ++warp) {
      const Span& span = host[static_cast<std::size_t>(block * warps + warp)];
      all.begin = std::min(all.begin, span.begin), all.end = std::max(all.end, span.end);
      all.begin_ns = std::min(all.begin_ns, span.begin_ns), all.end_ns = std::max(all.end_ns, span.end_ns);
    }
    cycles.push_back(static_cast<double>(all.end - all.begin));
    clocks.push_back(static_cast<double>(all.end - all.begin) /
                     (static_cast<double>(all.end_ns - all.begin_ns) * 1e-9));
  }
  return {median_of(cycles), median_of(clocks)};
}

// Clocks of one round, a sample for each repeat.
template <class Body>
std::vector<double> cycles_per_round(const Microbench& bench, const Body& body, Shape shape, int rounds) {
  run_timed(body, shape, rounds);  // loads the code
  std::vector<double> samples;
  for (int i = 0; i < bench.repeats(); ++i) {
    const double once = run_timed(body, shape, rounds).cycles, twice = run_timed(body, shape, 2 * rounds).cycles;
    samples.push_back((twice - once) / rounds);
  }
  return samples;
}

inline std::vector<double> scaled(std::vector<double> samples, double factor) {
  for (double& sample : samples) sample *= factor;
  return samples;
}
// factor / sample: from clocks a round to operations a clock.
inline std::vector<double> inverse(std::vector<double> samples, double factor) {
  for (double& sample : samples) sample = factor / sample;
  return samples;
}

}  // namespace tilescope::validate
