// The metrics that a capture counts, in groups that one pass collects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::capture {

struct MetricGroup {
  std::string name;  // "1", "2", ...; "sass"
  std::vector<std::string> metrics;
};

// The groups of a chip, the most telling first. Metrics that the chip lacks are left out, and those that need several
// passes. `availability`: CUPTI's image of what this GPU permits; empty for a chip that is not in this machine. Needs
// neither driver nor GPU. Throws DeviceError when CUPTI fails.
std::vector<MetricGroup> metric_groups(const std::string& chip, const std::vector<std::uint8_t>& availability = {});

}  // namespace tilescope::capture
