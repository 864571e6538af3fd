#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/error.h"
#include "validate/measure/counters/counters.h"
#include "validate/measure/cuda_check.h"
#include "validate/measure/hardware/bare_process.h"
#include "validate/measure/hardware/hardware_measure.h"
#include "validate/measure/point_run.h"
#include "validate/measure/wall_clock.h"

namespace tilescope::validate {
namespace {

struct Topic {
  const char* name;
  void (*measure)(Microbench&);
  bool hopper = false, counters = false;
};

// `launch` runs first, because it measures the clock that converts latencies to seconds. `power` runs last, because it
// heats the GPU.
constexpr Topic topics[] = {
    {"launch and clock", measure_launch},
    {"gaps between kernels and blocks", measure_launch_gaps},
    {"arithmetic pipes", measure_pipes},
    {"registers of multiply-adds", measure_registers},
    {"8-bit conversions and products", measure_hopper_pipes, true},
    {"mma.sync", measure_mma},
    {"clock of mma.sync", measure_mma_clock},
    {"wgmma", measure_wgmma, true},
    {"pipes beside mma.sync", measure_beside},
    {"pipes beside wgmma", measure_hopper_beside, true},
    {"wgmma beside arithmetic", measure_hopper_held, true},
    {"wgmma beside copies", measure_copies, true},
    {"blocks of an SM", measure_blocks},
    {"shared memory", measure_shared_memory},
    {"stmatrix", measure_hopper_shared_memory, true},
    {"latencies", measure_latencies},
    {"barriers", measure_barriers},
    {"mbarrier", measure_mbarrier, true},
    {"copy engine", measure_tma, true},
    {"shared memory of a cluster", measure_dsmem, true},
    {"L2", measure_l2},
    {"L2 by sharers", measure_l2_sharers},
    {"sides of the L2", measure_l2_sides},
    {"additions beside copies", measure_reductions, true},
    {"local memory", measure_local},
    {"L1", measure_l1},
    {"HBM", measure_hbm},
    {"streams of tiles", measure_streams},
    {"streams off lines", measure_off_line},
    {"L2 capacity", measure_l2_capacity, false, true},
    {"L2 reuse", measure_l2_reuse, false, true},
    {"power", measure_power},
};

bool gpu_usable(Readiness readiness) { return readiness == Readiness::ready || readiness == Readiness::not_permitted; }

void measure_topic(const Topic& topic, Microbench& bench) {
  try {
    topic.measure(bench);
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("while measuring {}: {}", topic.name, error.what()));
  }
}

}  // namespace

GpuAtHand gpu_at_hand() {
  const Preflight state = preflight();
  if (!gpu_usable(state.readiness)) throw DeviceError(state.message);
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp gpu{};
  check_cuda(cudaGetDeviceProperties(&gpu, device), "cudaGetDeviceProperties");
  return {.environment = environment_of_gpu(),
          .compute_capability = fmt::format("{}.{}", gpu.major, gpu.minor),
          .units = gpu.multiProcessorCount,
          .memory_bytes = static_cast<double>(gpu.totalGlobalMem)};
}

std::vector<double> bare_host_intervals(bool quick) {
  return in_bare_process([quick] {
    int units = 0;
    check_cuda(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
    return host_intervals(Microbench(units, false, quick));
  });
}

HardwareMeasurement measure_hardware(const HardwareMeasureOptions& options) {
  const WallClock::time_point start = WallClock::now();
  const GpuAtHand gpu = gpu_at_hand();
  const Preflight counters = preflight();
  Microbench bench(static_cast<int>(gpu.units), gpu.compute_capability == "9.0", options.quick);
  if (!options.host_intervals.empty())
    bench.add("launch.host_interval", options.host_intervals,
              "2000 empty kernels in a row as the host hands them over, in a process without CUPTI");
  HardwareMeasurement result;
  for (const Topic& topic : topics) {
    const WallClock::time_point begin = WallClock::now();
    if (topic.hopper && !bench.hopper()) {
      result.skipped.push_back(fmt::format("{}: only for compute capability 9.0", topic.name));
    } else if (topic.counters && counters.readiness != Readiness::ready) {
      result.skipped.push_back(fmt::format("{}: {}", topic.name, counters.message));
    } else {
      measure_topic(topic, bench);
    }
    if (options.progress) options.progress(topic.name, seconds_since(begin));
  }
  if (bench.find("power.idle") == nullptr) result.skipped.emplace_back("power: NVML counts no energy on this GPU");
  result.values = bench.values();
  result.curves = bench.curves();
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace tilescope::validate
