// A record from the captured launches of one kernel at one point.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagram/workload.h"
#include "kernel/describe/facts.h"
#include "records/capture/capture.h"
#include "records/record.h"

namespace tilescope::launches {

struct CapturedGroup {
  const capture::Capture* capture = nullptr;
  std::vector<const capture::CapturedLaunch*> launches;  // of one kernel and geometry; at least one
};

// Counters are medians over the launches that counted each; a total that no single pass counts is the sum of its parts.
validate::Record captured_record(const CapturedGroup& group, const validate::MeasurePoint& point,
                                 const std::string& hardware, const std::string& from);

// The point of a described kernel's launch; `descriptor`: its file.
// The formats of a description's `dtypes`, as in "[fp16]" or "[{all: fp16, kv: \"int8:g64:b2\"}]".
void set_described_formats(const std::string& dtypes, validate::MeasurePoint& point);

validate::MeasurePoint described_point(const AttentionFacts& facts, const Workload& workload, const std::string& mask,
                                       const std::filesystem::path& descriptor);

// The GPU that a launch ran on, as its process numbers them; null: the capture does not list it.
const capture::CapturedDevice* device_of_launch(const capture::Capture& found, const capture::CapturedLaunch& launch);

// Profile of the GPU that launches ran on: `asked`, or the one that the capture's device is. InputError where there is
// not exactly one.
std::string hardware_of_launch(const capture::Capture& found, const capture::CapturedLaunch& launch,
                               const std::string& from, const std::optional<std::string>& asked);

}  // namespace tilescope::launches
