// Runs a command under capture: see validate/capture/inject for the library that its processes load.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "records/capture/capture.h"

namespace tilescope::capture {

struct CaptureRun {
  std::vector<std::string> command;
  std::filesystem::path directory;    // receives capture.jsonl and cubins/
  bool counters = false;              // count each kind of launch, a group of metrics a launch
  bool cold = false;                  // read through the L2 before counted launches
  std::string durations = "sampled";  // launches that have a time: all, sampled or none
  bool hooks = false;                 // a preloaded library records launches, CUPTI only those that have a time
};

struct CaptureOutcome {
  int status = 0;  // of the command; 128 + the signal that ended it
  Capture capture;
};

// The library beside the program, in lib/tilescope. Throws DeviceError when it is not there.
std::filesystem::path capture_library();

// Runs the command, waits for it, and joins what its processes wrote. Interrupts reach the command alone. Throws
// InputError when the command cannot be started or the directory holds a capture already, DeviceError without library.
CaptureOutcome run_capture(const CaptureRun& run, const std::filesystem::path& library);

// What stands in the way of a capture or of its counters, one line each with the remedy, before the command runs.
struct CapturePreflight {
  bool counters = true;  // false: goes on without them
  std::vector<std::string> notes;
};
// `root`: where proc/ is looked for, "/" on a real machine. `injection`: CUDA_INJECTION64_PATH as the command inherits
// it, nullptr if it is not set.
CapturePreflight capture_preflight(const std::filesystem::path& root, const char* injection, bool counters);

}  // namespace tilescope::capture
