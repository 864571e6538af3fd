// `hardware measure`: runs the microbenchmarks on the current GPU and writes a record of the results. No CUDA types;
// CMake picks hardware_measure_cuda.cpp or hardware_measure_none.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "hardware/profile.h"
#include "records/record.h"
#include "validate/microbench/bench.h"

namespace tilescope::validate {

inline constexpr std::string_view hardware_record_schema = "tilescope/hardware-record/1";

struct GpuAtHand {
  Environment environment;  // `hardware` is empty
  std::string compute_capability;
  std::int64_t units = 0;
  double memory_bytes = 0;
};

// Throws DeviceError where there is no GPU or this build has no CUDA.
GpuAtHand gpu_at_hand();

// Empty if the profile describes this GPU, else the difference: compute capability, number of SMs, or memory by over 15
// %.
std::string difference_from(const GpuAtHand& gpu, const HardwareProfile& profile);

struct HardwareMeasureOptions {
  bool quick = false;                                                      // fewer repeats, shorter loads
  std::vector<double> host_intervals;                                      // of bare_host_intervals
  std::function<void(const std::string& topic, double seconds)> progress;  // after each topic; may be empty
};

struct HardwareMeasurement {
  std::vector<MicrobenchValue> values;
  std::vector<MicrobenchCurve> curves;
  std::vector<std::string> skipped;  // topics that could not be measured, with the reason
  double seconds = 0;
};

// Seconds between consecutive launches of empty kernels by the host, in a process without CUPTI. Call it first, because
// gpu_at_hand initialises CUPTI. Empty: no GPU, or a build without CUDA.
std::vector<double> bare_host_intervals(bool quick);

// Runs every topic. Throws DeviceError when the device fails; without permission for counters, only the topics that
// need them are skipped.
HardwareMeasurement measure_hardware(const HardwareMeasureOptions& options);

// All samples, one value or curve a line.
std::string hardware_record_json(const GpuAtHand& gpu, const HardwareMeasurement& measurement);

}  // namespace tilescope::validate
