// CSV of Nsight Compute: `ncu --csv`, by metric or, with --page raw, by launch.
#pragma once

#include <filesystem>

#include "import/formats/metric_names.h"
#include "import/tool_file.h"

namespace tilescope::imported {

// Launches with their counters. Lines before the table, such as the program's own output, are left out. Throws
// InputError with every finding: a name that is unknown, a number or unit that cannot be read, a row of another length.
ToolFile read_ncu_csv(const std::filesystem::path& file, const MetricNames& names);

}  // namespace tilescope::imported
