// Measurements that a person writes down, where no tool wrote a file (tilescope/measured/1).
#pragma once

#include <filesystem>

#include "import/formats/metric_names.h"
#include "import/tool_file.h"

namespace tilescope::imported {

inline constexpr std::string_view measured_schema = "tilescope/measured/1";
inline constexpr double most_count = 1e18;  // of a counter: more is damage

// Points with their times and counters, in units: "165 us", "128 KiB". Each time is a launch of its own; the first has
// the counters. Throws InputError with every finding.
ToolFile read_measured_yaml(const std::filesystem::path& file, const MetricNames& names);

}  // namespace tilescope::imported
