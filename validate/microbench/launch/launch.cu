// The cost of starting kernels and blocks.
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

__global__ void empty_kernel() {}

// Lets the next kernel of the stream start on the SMs when its own work is done.
__global__ void announcing_kernel(int clocks) {
  for (const long long end = clock64() + clocks; clock64() < end;) {
  }
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__global__ void dependent_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// A light load, long enough to compute the SM clock from the two timers.
struct Spin {
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned x = threadIdx.x;
    watch.start();
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) asm volatile("prmt.b32 %0, %0, %1, 0x2103;" : "+r"(x) : "r"(i));
    watch.stop();
    return x;
  }
};

// Seconds of `launches` empty kernels. They are queued behind a spin of `behind_us`, so that the host's launch rate has
// no influence. 0: no spin, the host's launch rate is included.
std::vector<double> kernel_runs(const Microbench& bench, int launches, unsigned blocks, unsigned threads, int shared,
                                int behind_us) {
  const DeviceBuffer memory(sizeof(Span) + 16);
  Span* span = static_cast<Span*>(memory.get());
  std::vector<double> samples;
  for (int i = 0; i <= bench.repeats(); ++i) {
    if (behind_us > 0) launch_timed(Spin{}, {1, 32, 0}, behind_us * 400, span, reinterpret_cast<unsigned*>(span + 1));
    samples.push_back(event_seconds([&] {
      for (int j = 0; j < launches; ++j) empty_kernel<<<blocks, threads, static_cast<std::size_t>(shared)>>>();
    }));
  }
  samples.erase(samples.begin());
  return samples;
}

// Seconds of `pairs` kernels of 10 us on all SMs, each followed by a dependent kernel that is launched early, or
// by none.
double pair_seconds(const Microbench& bench, int pairs, bool dependents) {
  const auto units = static_cast<unsigned>(bench.units());
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(units), config.blockDim = dim3(128), config.attrs = &early, config.numAttrs = 1;
  announcing_kernel<<<1, 32>>>(4000000);  // excludes the host's launch rate
  return event_seconds([&] {
    for (int i = 0; i < pairs; ++i) {
      announcing_kernel<<<units, 128>>>(20000);
      if (dependents) check_cuda(cudaLaunchKernelEx(&config, dependent_kernel), "cudaLaunchKernelEx");
    }
  });
}

}  // namespace

std::vector<double> host_intervals(const Microbench& bench) {
  constexpr int launches = 2000;  // more than fit into the command queue
  return scaled(kernel_runs(bench, launches, static_cast<unsigned>(bench.units()), 128, 0, 0), 1.0 / launches);
}

void measure_launch(Microbench& bench) {
  const auto units = static_cast<unsigned>(bench.units());
  std::vector<double> clocks;
  for (int i = 0; i < 5; ++i) clocks.push_back(run_timed(Spin{}, {bench.units(), 32, 0}, 3000000).clock_hz);
  bench.add("clock.most", clocks, "one spinning warp per SM; SM clocks divided by the GPU timer");
  MicrobenchCurve host{
      "empty kernels in a row as the host hands them over, in the process that counts", "sample", "s a kernel", {}};
  for (const double sample : host_intervals(bench))
    host.points.emplace_back(static_cast<double>(host.points.size()), sample);
  bench.add_curve(host);
  MicrobenchCurve empties{"empty kernels of one block per SM, 400 in the queue", "sample", "s a kernel", {}};
  for (const double sample : kernel_runs(bench, 400, units, 128, 0, 4000))
    empties.points.emplace_back(static_cast<double>(empties.points.size()), sample / 400);
  bench.add_curve(empties);
  if (bench.hopper()) {
    std::vector<double> dependents;
    for (int i = 0; i <= bench.repeats(); ++i)
      dependents.push_back((pair_seconds(bench, 150, true) - pair_seconds(bench, 150, false)) / 150);
    dependents.erase(dependents.begin());
    bench.add("launch.dependent", dependents,
              "time added by a dependent kernel that is released when 10 us of work on every SM are done");
  }
  const double lone = median_of(kernel_runs(bench, 50, units, 128, 0, 2000));
  std::vector<double> beside = kernel_runs(bench, 50, units * 128, 128, 0, 2000);
  for (double& sample : beside) sample = (sample - lone) / (50 * 127);
  bench.add("launch.block_beside", beside, "empty blocks of 128 threads on all SMs: 128 per SM minus 1 per SM");
  // Shared memory of more than half an SM, so that one block is resident at a time.
  int most = 0;
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "cudaDeviceGetAttribute");
  const int shared = most / 4 * 3;
  check_cuda(cudaFuncSetAttribute(empty_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
             "cudaFuncSetAttribute");
  MicrobenchCurve curve{"empty blocks one at a time on each SM", "threads of a block", "s", {}};
  for (const unsigned threads : {128u, 256u, 384u, 512u}) {
    const std::vector<double> few = kernel_runs(bench, 1, units * 10, threads, shared, 100);
    std::vector<double> more = kernel_runs(bench, 1, units * 210, threads, shared, 100);
    for (std::size_t i = 0; i < few.size(); ++i) more[i] = (more[i] - few[i]) / 200;
    curve.points.emplace_back(threads, median_of(more));
  }
  bench.add_curve(curve);
}

}  // namespace tilescope::validate
