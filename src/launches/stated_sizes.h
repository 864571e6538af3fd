// The sizes of attention with which a kernel was launched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagram/workload.h"
#include "import/given_points.h"
#include "kernel/describe/facts.h"

namespace tilescope::launches {

struct StatedSizes {
  std::optional<Workload> workload{};
  std::string mask = "none";  // as on the command line
  std::string from{};         // "option" or "range"
  std::string missing{};      // why there are none
};

// From the first of `given` that covers the launch, or from the innermost NVTX range that reads as one of them. What
// neither says of the head dimensions, the code does. Sizes that cannot be are in `missing`.
StatedSizes stated_sizes(const AttentionFacts& facts, const std::string& kernel, const std::vector<std::string>& ranges,
                         const std::vector<imported::GivenPoint>& given);

// The words of an NVTX range as a point, if it states q_len: "batch=2 heads_q=16 q_len=2k mask=causal".
std::optional<imported::GivenPoint> point_of_range(const std::string& range);

}  // namespace tilescope::launches
