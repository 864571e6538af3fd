// The L2 partition of each SM, and the order in which a launch fills the SMs: the profile's `groups`.
#include "hardware/unit_groups.h"
#include "validate/microbench/l2_groups.h"
#include "validate/microbench/memory/line_latency.cuh"

namespace tilescope::validate {
namespace {

constexpr int lines = 256;

// All blocks stay resident until the last one has started, so that each has its own SM.
__global__ void where_kernel(unsigned* units, unsigned* arrived) {
  units[blockIdx.x] = own_sm();
  atomicAdd(arrived, 1u);
  const volatile unsigned* come = arrived;
  for (const long long end = clock64() + 4000000; *come < gridDim.x && clock64() < end;) {
  }
}

// The latencies of the lines that SM 0 has loaded, by SM.
std::vector<std::vector<double>> latencies_by_sm(int units) {
  const DeviceBuffer buffer(std::size_t{64} << 20);
  check_cuda(cudaMemset(buffer.get(), 0, buffer.size()), "cudaMemset");
  const LineLatency latencies(static_cast<const unsigned*>(buffer.get()), lines, units);
  std::vector<std::vector<double>> all;
  for (int sm = 0; sm < units; ++sm) all.push_back(latencies.seen_by(static_cast<unsigned>(sm)));
  return all;
}

std::vector<double> far_parts(const std::vector<std::vector<double>>& by_sm, double far) {
  std::vector<double> parts;
  for (const std::vector<double>& clocks : by_sm)
    parts.push_back(
        static_cast<double>(std::count_if(clocks.begin(), clocks.end(), [&](double c) { return c > far; })) / lines);
  return parts;
}

// The SM of each block of a launch with one block on every SM; empty where blocks cannot fill an SM.
std::vector<int> unit_of_each_block(int units) {
  const DeviceBuffer memory(sizeof(unsigned) * static_cast<std::size_t>(units + 1));
  auto* const found = static_cast<unsigned*>(memory.get());
  check_cuda(cudaMemset(found, 0, memory.size()), "cudaMemset");
  const int shared = 160 << 10;  // one block per SM
  int most = 0;
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "cudaDeviceGetAttribute");
  if (most < shared) return {};
  check_cuda(cudaFuncSetAttribute(where_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
             "cudaFuncSetAttribute");
  where_kernel<<<static_cast<unsigned>(units), 32, static_cast<std::size_t>(shared)>>>(found, found + units);
  check_cuda(cudaGetLastError(), "launching a microbenchmark");
  std::vector<unsigned> host(static_cast<std::size_t>(units));
  check_cuda(cudaMemcpy(host.data(), found, sizeof(unsigned) * host.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return {host.begin(), host.end()};
}

}  // namespace

std::string l2_groups_of_gpu(int units) {
  const std::vector<int> order = unit_of_each_block(units);
  if (order.empty()) return {};
  const std::vector<std::vector<double>> by_sm = latencies_by_sm(units);
  std::vector<double> all;
  for (const std::vector<double>& clocks : by_sm) all.insert(all.end(), clocks.begin(), clocks.end());
  std::sort(all.begin(), all.end());
  // A line in four is far where both sides have as many SMs: half of the lines for every second SM.
  const double near = all[all.size() / 4], far = all[all.size() - all.size() / 16];
  return unit_groups_text(groups_of_order(order, far_parts(by_sm, (near + far) / 2)));
}

void measure_l2_sides(Microbench& bench) {
  const MicrobenchValue *const near = bench.find("l2.latency_near"), *const far = bench.find("l2.latency_far");
  if (near != nullptr && far != nullptr) {
    MicrobenchCurve sides{far_lines_curve, "SM", "part of the lines", {}};
    const std::vector<double> parts = far_parts(latencies_by_sm(bench.units()), (near->value + far->value) / 2);
    for (std::size_t sm = 0; sm < parts.size(); ++sm) sides.points.emplace_back(static_cast<double>(sm), parts[sm]);
    bench.add_curve(sides);
  }
  const std::vector<int> order = unit_of_each_block(bench.units());
  if (order.empty()) return;
  MicrobenchCurve filled{launch_order_curve, "block", "SM", {}};
  for (std::size_t i = 0; i < order.size(); ++i) filled.points.emplace_back(static_cast<double>(i), order[i]);
  bench.add_curve(filled);
}

}  // namespace tilescope::validate
