// Ties kernels to the calls of operators that launched them, by the thread and time of the launch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/tool_file.h"

namespace tilescope::imported {

struct TimedLaunch {
  ToolLaunch launch;
  double start = 0;
  std::optional<std::int64_t> correlation;  // with the call of the driver or runtime that launched it
};

struct LaunchCall {
  std::string thread;
  double start = 0;
};
using LaunchCalls = std::map<std::int64_t, LaunchCall>;  // by correlation

struct OperatorSpan {
  double start = 0, end = 0;
  std::size_t call = 0;  // position in ToolFile::operators
  std::size_t rank = 0;  // of its operator in the table
};
using Spans = std::map<std::string, std::vector<OperatorSpan>>;  // by thread

// Moves the launches to the file, each with the call in whose span it was launched: of several, the one of the lowest
// rank, of equal ones the innermost.
void link_calls(Spans& spans, const LaunchCalls& starts, std::vector<TimedLaunch>& launches, ToolFile& file);

}  // namespace tilescope::imported
