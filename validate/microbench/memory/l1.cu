// The capacity that L1 and shared memory share: the largest range that still hits L1 for a given size of shared memory.
#include "validate/microbench/device_loops.cuh"

namespace tilescope::validate {
namespace {

constexpr int kib = 1024;

// One warp reads a range with dependent loads of 512 B; each address depends on the previous value, which is zero.
struct Sweep {
  const uint4* data;
  int bytes;
  __device__ __forceinline__ unsigned operator()(unsigned char*, int rounds, Stopwatch& watch) const {
    unsigned zero = 0;
    watch.start();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round)
#pragma unroll 4
      for (int i = static_cast<int>(threadIdx.x); i < bytes / 16; i += 32) {
        uint4 v;
        asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(data + i + zero)
                     : "memory");
        zero = v.x;
      }
    watch.stop();
    return zero;
  }
};

}  // namespace

void measure_l1(Microbench& bench) {
  const DeviceBuffer buffer(512 * kib);
  check_cuda(cudaMemset(buffer.get(), 0, buffer.size()), "cudaMemset");
  const auto* data = static_cast<const uint4*>(buffer.get());
  std::vector<double> together;
  // Shared-memory sizes that the hardware supports, each including 1 KiB for the system.
  for (const int shared : {64, 100, 132, 164}) {
    const Shape shape{1, 32, (shared - 1) * kib};
    const auto kernel = kernel_of<Sweep>();
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxL1) !=
        cudaSuccess)
      break;
    const auto clocks = [&](int size) {  // of a load, after the first sweep
      return (run_timed(Sweep{data, size * kib}, shape, 12).cycles -
              run_timed(Sweep{data, size * kib}, shape, 4).cycles) *
             512 / (8.0 * size * kib);
    };
    const double hit = clocks(48), miss = clocks(448);
    MicrobenchCurve curve{"l1 beside " + std::to_string(shared) + " KiB of shared memory",
                          "KiB of the range",
                          "clk of a load",
                          {{48, hit}}};
    const double most = hit + 0.05 * (miss - hit);
    double fits = 0;  // the size at which the curve first crosses the threshold
    for (int size = 64; size <= 240; size += 4) {
      curve.points.emplace_back(size, clocks(size));
      const auto [before, low] = curve.points[curve.points.size() - 2];
      const double high = curve.points.back().second;
      if (fits == 0 && high > most) fits = before + (size - before) * (most - low) / (high - low);
    }
    curve.points.emplace_back(448, miss);
    bench.add_curve(curve);
    if (fits > 0) together.push_back((fits + shared) * kib);
  }
  if (!together.empty())
    bench.add("local.l1", together,
              "the largest range that one warp finds in L1 again (95 %) and the shared memory beside it, four sizes");
}

}  // namespace tilescope::validate
