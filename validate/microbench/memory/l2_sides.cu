// The L2 partition of each SM, and the order in which a launch fills the SMs: the profile's `groups`.
#include "hardware/unit_groups.h"
#include "validate/microbench/memory/line_latency.cuh"

namespace tilescope::validate {
namespace {

// All blocks stay resident until the last one has started, so that each has its own SM.
__global__ void where_kernel(unsigned* units, unsigned* arrived) {
  units[blockIdx.x] = own_sm();
  atomicAdd(arrived, 1u);
  const volatile unsigned* come = arrived;
  for (const long long end = clock64() + 4000000; *come < gridDim.x && clock64() < end;) {
  }
}

}  // namespace

void measure_l2_sides(Microbench& bench) {
  constexpr int lines = 256;
  const DeviceBuffer buffer(std::size_t{64} << 20);
  check_cuda(cudaMemset(buffer.get(), 0, buffer.size()), "cudaMemset");
  const LineLatency latencies(static_cast<const unsigned*>(buffer.get()), lines, bench.units());
  const MicrobenchValue *const near = bench.find("l2.latency_near"), *const far = bench.find("l2.latency_far");
  if (near != nullptr && far != nullptr) {
    MicrobenchCurve sides{far_lines_curve, "SM", "part of the lines", {}};
    for (int sm = 0; sm < bench.units(); ++sm) {
      const std::vector<double> clocks = latencies.seen_by(static_cast<unsigned>(sm));
      const auto away =
          std::count_if(clocks.begin(), clocks.end(), [&](double c) { return c > (near->value + far->value) / 2; });
      sides.points.emplace_back(sm, static_cast<double>(away) / lines);
    }
    bench.add_curve(sides);
  }
  const DeviceBuffer memory(sizeof(unsigned) * static_cast<std::size_t>(bench.units() + 1));
  auto* const units = static_cast<unsigned*>(memory.get());
  check_cuda(cudaMemset(units, 0, memory.size()), "cudaMemset");
  const int shared = 160 << 10;  // one block per SM
  int most = 0;
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "cudaDeviceGetAttribute");
  if (most < shared) return;
  check_cuda(cudaFuncSetAttribute(where_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
             "cudaFuncSetAttribute");
  where_kernel<<<static_cast<unsigned>(bench.units()), 32, static_cast<std::size_t>(shared)>>>(units,
                                                                                               units + bench.units());
  check_cuda(cudaGetLastError(), "launching a microbenchmark");
  std::vector<unsigned> host(static_cast<std::size_t>(bench.units()));
  check_cuda(cudaMemcpy(host.data(), units, sizeof(unsigned) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  MicrobenchCurve order{launch_order_curve, "block", "SM", {}};
  for (std::size_t i = 0; i < host.size(); ++i) order.points.emplace_back(static_cast<double>(i), host[i]);
  bench.add_curve(order);
}

}  // namespace tilescope::validate
