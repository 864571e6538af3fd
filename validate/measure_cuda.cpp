#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>

#include "base/text.h"
#include "validate/cuda_check.h"
#include "validate/measure.h"
#include "validate/point_run.h"

namespace tilescope::validate {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// While alive, SIGINT asks for a stop after the current point; a second one ends the program as usual.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_ {};
};

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string pci_bus_id(int device) {
  char text[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(text, sizeof text, device), "cudaDeviceGetPCIBusId");
  return text;
}

// H100 and H200 share a chip: the number of units and the memory tell them apart.
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
  const MemoryLevel* hbm = profile.level("hbm");
  if (hbm == nullptr || !hbm->capacity_bytes) return;
  const double bytes = static_cast<double>(gpu.totalGlobalMem), expected = hbm->capacity_bytes->value;
  if (std::abs(bytes - expected) > 0.15 * expected) {
    refuse(fmt::format("{} of memory instead of {}", with_binary(bytes), with_binary(expected)));
  }
}

Environment read_environment(const cudaDeviceProp& gpu, const std::string& chip, const Nvml& nvml,
                             const HardwareProfile& profile, const std::string& revision) {
  int runtime = 0, driver = 0;
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const std::string named = nvml.driver_version();
  return {.hardware = profile.id,
          .gpu = gpu.name,
          .chip = chip,
          .driver = named.empty() ? "for CUDA " + version_text(driver) : named,
          .cuda = version_text(runtime),
          .cupti = cupti_version().value_or("none"),
          .sm_clock_max_hz = nvml.max_sm_clock_hz(),
          .memory_clock_hz = nvml.max_memory_clock_hz(),
          .power_limit_w = nvml.power_limit_w(),
          .ecc = nvml.ecc(),
          .l2_bytes = gpu.l2CacheSize,
          .date = utc_now(),
          .revision = revision};
}

Bench make_bench(const Experiment& experiment, const HardwareProfile& profile, const std::string& revision) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp gpu{};
  check_cuda(cudaGetDeviceProperties(&gpu, device), "cudaGetDeviceProperties");
  const std::string chip = current_chip();
  require_same_gpu(gpu, chip, profile);
  auto nvml = std::make_unique<Nvml>(pci_bus_id(device));
  Environment environment = read_environment(gpu, chip, *nvml, profile, revision);
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

bool already_recorded(const std::filesystem::path& file, const MeasurePoint& point) {
  if (!std::filesystem::is_regular_file(file)) return false;
  try {
    return read_record(file).point == point;
  } catch (const InputError&) {
    return false;  // damaged or of an older schema: measure it again
  }
}

// A folder that cannot be written to is found out before the GPU has worked for nothing.
void prepare_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const char* why = error ? nullptr : ::access(folder.c_str(), W_OK) == 0 ? nullptr : std::strerror(errno);
  if (!error && why == nullptr) return;
  throw InputError(
      Diagnostic{.file = folder.string(),
                 .message = fmt::format("records cannot be written here: {}; name another output directory",
                                        error ? error.message() : std::string(why))});
}

// The record of a point; a device error says at which point it happened.
Record run_named_point(Bench& bench, const MeasurePoint& point, const ChosenVariant& chosen) {
  try {
    return run_point(bench, point, chosen);
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("at {}: {}", point_id(point), error.what()));
  }
}

// Measures one point, or finds out why not; fills everything of `progress` but its index.
void measure_point(Bench& bench, const MeasurePoint& listed, const MeasureOptions& options, MeasureProgress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const ChosenVariant chosen = choose_variant(listed);
  MeasurePoint point = listed;
  point.tile_q = chosen.variant.tile_q;
  point.tile_kv = chosen.variant.tile_kv;
  point.warps = chosen.variant.warps;
  progress.point = point_id(chosen.problem.empty() ? point : listed);
  if (!chosen.problem.empty()) {
    progress.state = PointState::unsupported;
    progress.message = chosen.problem;
    return;
  }
  const std::filesystem::path file = record_path(options.output, bench.experiment, point);
  if (options.resume && already_recorded(file, point)) {
    progress.state = PointState::kept;
    return;
  }
  bench.environment.date = utc_now();
  const Record record = run_named_point(bench, point, chosen);
  write_record(record, file);
  progress.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress.state = record.correctness.passed ? PointState::measured : PointState::incorrect;
  if (!record.correctness.passed) {
    progress.message = fmt::format("error {:.3g} against a tolerance of {:.3g}", record.correctness.max_error,
                                   record.correctness.tolerance);
  }
}

}  // namespace

MeasureReport measure(const Experiment& experiment, const HardwareProfile& profile, const MeasureOptions& options) {
  if (experiment.hardware != profile.id) {
    throw InputError(
        Diagnostic{.file = experiment.file,
                   .path = "hardware",
                   .message = fmt::format("names {}, but the profile given is {}", experiment.hardware, profile.id)});
  }
  prepare_folder(options.output / experiment.name);
  require_counters();
  Bench bench = make_bench(experiment, profile, options.revision);
  const InterruptGuard guard;
  MeasureReport report;
  for (std::size_t i = 0; i < experiment.points.size() && interrupted == 0; ++i) {
    MeasureProgress progress;
    progress.index = i + 1;
    progress.total = experiment.points.size();
    measure_point(bench, experiment.points[i], options, progress);
    switch (progress.state) {
      case PointState::measured:
        ++report.measured;
        break;
      case PointState::kept:
        ++report.kept;
        break;
      case PointState::unsupported:
        report.unsupported.push_back(progress.point + ": " + progress.message);
        break;
      case PointState::incorrect:
        ++report.measured;
        report.incorrect.push_back(progress.point + ": " + progress.message);
        break;
    }
    if (options.progress) options.progress(progress);
    report.interrupted = interrupted != 0 && i + 1 < experiment.points.size();
  }
  return report;
}

}  // namespace tilescope::validate
