// The GPU of a measurement run: its description in records, and the state shared by all points of the run.
#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "base/text.h"
#include "validate/measure/cuda_check.h"
#include "validate/measure/measure.h"
#include "validate/measure/point_run.h"
#include "validate/microbench/l2_groups.h"

namespace tilescope::validate {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string pci_bus_id(int device) {
  char text[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(text, sizeof text, device), "cudaDeviceGetPCIBusId");
  return text;
}

// H100 and H200 have the same chip; they differ in the number of SMs and in memory.
void require_same_gpu(const cudaDeviceProp& gpu, const std::string& chip, const HardwareProfile& profile) {
  const auto refuse = [&](const std::string& why) {
    throw DeviceError(
        fmt::format("the experiment is for {} ({}) but this GPU is {}: {}; name a profile of this GPU in the "
                    "experiment's `hardware`",
                    profile.id, profile.name, gpu.name, why));
  };
  if (chip != profile.chip) refuse(fmt::format("chip {} instead of {}", chip, profile.chip));
  if (gpu.multiProcessorCount != profile.units.value) {
    refuse(fmt::format("{} units instead of {}", gpu.multiProcessorCount, profile.units.value));
  }
  const MemoryLevel* hbm = profile.level(LevelId::hbm);
  if (hbm == nullptr || !hbm->capacity_bytes) return;
  const double bytes = static_cast<double>(gpu.totalGlobalMem), expected = hbm->capacity_bytes->value;
  if (std::abs(bytes - expected) > 0.15 * expected) {
    refuse(fmt::format("{} of memory instead of {}", with_binary(bytes), with_binary(expected)));
  }
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Environment environment_of_gpu() {
  int device = 0, runtime = 0, driver = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp gpu{};
  check_cuda(cudaGetDeviceProperties(&gpu, device), "cudaGetDeviceProperties");
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const Nvml nvml(pci_bus_id(device));
  const std::string named = nvml.driver_version();
  return {.hardware = {},
          .gpu = gpu.name,
          .chip = current_chip(),
          .driver = named.empty() ? "for CUDA " + version_text(driver) : named,
          .cuda = version_text(runtime),
          .cupti = cupti_version().value_or("none"),
          .sm_clock_max_hz = nvml.max_sm_clock_hz(),
          .memory_clock_hz = nvml.max_memory_clock_hz(),
          .power_limit_w = nvml.power_limit_w(),
          .ecc = nvml.ecc(),
          .l2_bytes = gpu.l2CacheSize,
          .date = utc_now(),
          .revision = {}};
}

Bench make_bench(const Experiment& experiment, const HardwareProfile& profile, const std::string& revision) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp gpu{};
  check_cuda(cudaGetDeviceProperties(&gpu, device), "cudaGetDeviceProperties");
  const std::string chip = current_chip();
  require_same_gpu(gpu, chip, profile);
  auto nvml = std::make_unique<Nvml>(pci_bus_id(device));
  Environment environment = environment_of_gpu();
  environment.hardware = profile.id;
  environment.revision = revision;
  environment.l2_groups = l2_groups_of_gpu(gpu.multiProcessorCount);
  const MetricSets metrics = metrics_to_collect(profile);
  return {.flush = L2Flush(),
          .traffic = CounterSession(metrics.traffic),
          .work = CounterSession(metrics.work),
          .nvml = std::move(nvml),
          .environment = std::move(environment),
          .experiment = experiment.name,
          .cold_repeats = experiment.cold_repeats,
          .steady_repeats = experiment.steady_repeats};
}

}  // namespace tilescope::validate
