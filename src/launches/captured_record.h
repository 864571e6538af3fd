// A record from the captured launches of one kernel at one point.
#pragma once

#include <string>
#include <vector>

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

}  // namespace tilescope::launches
