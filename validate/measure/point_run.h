// One point on the GPU: inputs, correctness, times, counters.
#pragma once

#include <memory>
#include <string>

#include "hardware/profile.h"
#include "kernels/kernel_api.h"
#include "records/experiment.h"
#include "records/record.h"
#include "validate/measure/counters/counters.h"
#include "validate/measure/device_work.h"
#include "validate/measure/nvml.h"

namespace tilescope::validate {

// State shared by all points of a run.
struct Bench {
  L2Flush flush;
  CounterSession traffic, work;  // see MetricSets
  std::unique_ptr<Nvml> nvml;
  Environment environment;
  std::string experiment;
  int cold_repeats = 10, steady_repeats = 20;
  std::filesystem::path data_directory = {};  // where the files of block masks are
};

// For the current GPU. Throws DeviceError unless it is the profile's and its counters can be read.
Bench make_bench(const Experiment& experiment, const HardwareProfile& profile, const std::string& revision);

// Of the current GPU, without the profile's id and the code's revision. Throws DeviceError.
Environment environment_of_gpu();

std::string utc_now();  // "2026-11-20T17:03:00Z"

struct ChosenVariant {
  kernels::Variant variant;
  kernels::Shape shape;
  kernels::Mask mask = kernels::Mask::none;
  std::string problem;  // why the point cannot run; empty when it can
};

// The built variant that a point names.
ChosenVariant choose_variant(const MeasurePoint& point);

// The point completed with the kernel's choices: tiles, stages, splits.
MeasurePoint completed(const MeasurePoint& point, const ChosenVariant& chosen);

// Runs the point. The record's correctness tells whether the output was right. Throws DeviceError.
Record run_point(Bench& bench, const MeasurePoint& point, const ChosenVariant& chosen);

}  // namespace tilescope::validate
