// Which launches of a file are attention, by which kernel, at which point.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hardware/profile.h"
#include "import/given_points.h"
#include "import/operators.h"
#include "import/tool_file.h"
#include "records/point.h"

namespace tilescope::imported {

struct Asked {
  std::optional<std::string> hardware, kernel;  // as on the command line
  std::vector<GivenPoint> points;               // not empty: they take the place of shapes in the file
};

// Launches that are one run of a kernel, or one launch that is not recognised.
struct FoundRun {
  std::vector<std::size_t> launches;  // positions in ToolFile::launches; of a run, those of its islands in order
  std::optional<validate::MeasurePoint> point;  // absent: not recognised
  std::string reason;                           // why not; empty for kernels beside attention
};

// The profile of the GPU that the launches ran on: --hardware, or the one whose name, SMs and memory agree. InputError
// where there is not exactly one.
HardwareProfile hardware_of(const ToolFile& file, const std::optional<std::string>& hardware);
HardwareProfile hardware_of(const ToolDevice& device, const std::string& path,
                            const std::optional<std::string>& hardware);

// Every launch, in order. A point that cannot be is an InputError where the user stated it, and a reason where the file
// has it.
std::vector<FoundRun> recognise(const ToolFile& file, const OperatorTable& table, const HardwareProfile& hardware,
                                const Asked& asked);

// "flash_fwd_kernel": without return type, namespaces, template arguments and parameters.
std::string short_name(const std::string& name);

}  // namespace tilescope::imported
