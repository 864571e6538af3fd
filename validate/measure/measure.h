// Running an experiment's kernels: counters, times, correctness, records. No CUDA types; CMake picks measure_cuda.cpp
// or measure_none.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "hardware/profile.h"
#include "records/experiment.h"
#include "records/record.h"
#include "validate/measure/counters/counters.h"

namespace tilescope::validate {

enum class PointState { measured, kept, unsupported, incorrect };

struct MeasureProgress {
  std::size_t index = 0, total = 0;  // index counts from 1
  std::string point;                 // id
  PointState state = PointState::measured;
  double seconds = 0;   // wall time the point took
  std::string message;  // why it is unsupported or incorrect, or what is doubtful; else empty
};

// "[12/64] fused_mma-...: measured, 1.8 s"
std::string to_string(const MeasureProgress& progress);

struct MeasureOptions {
  std::filesystem::path output;          // records go to <output>/<experiment>.jsonl
  std::filesystem::path data_directory;  // block masks are files below it
  bool resume = true;                    // skip points that already have a record, whichever revision wrote it
  std::string revision = "unknown";      // of the code that measures (see source_revision)
  std::function<void(const MeasureProgress&)> progress;  // called after each point; may be empty
};

struct MeasureReport {
  int measured = 0, kept = 0;
  std::vector<std::string> unsupported, incorrect;  // "<point id>: <why>"
  bool interrupted = false;  // SIGINT: the current point was finished, the remaining ones were not started
};

// Measures every point of the experiment on the current GPU. A point's record is written when it is done, so an
// interrupted run keeps what it has. Throws DeviceError when counters cannot be read or the GPU is not the profile's,
// InputError when the profile is not the experiment's or a record cannot be written.
MeasureReport measure(const Experiment& experiment, const HardwareProfile& profile, const MeasureOptions& options);

// The metrics a record of this GPU holds: the profile's level and work counters, and those behind derived quantities.
// Traffic is a separate set with few passes, because it is collected several times.
struct MetricSets {
  std::vector<std::string> traffic;  // bytes between SM, L2 and HBM
  std::vector<std::string> work;     // everything else
};
MetricSets metrics_to_collect(const HardwareProfile& profile);

// The revision checked out in a git repository ("c0ffee..."), or "unknown" outside one.
std::string source_revision(const std::filesystem::path& repository);

}  // namespace tilescope::validate
