// The front door: reads a file of any form that is known, recognised by its first bytes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "import/formats/metric_names.h"
#include "import/operators.h"
#include "import/tool_file.h"

namespace tilescope::imported {

struct ImportTables {
  OperatorTable operators;
  MetricNames metrics;
};

// Those of validate/import. `ignored`: metrics of ncu to leave out.
ImportTables load_tables(const std::vector<std::string>& ignored);

// Throws InputError for a file that is none of these, or is damaged.
ToolFile read_tool_file(const std::filesystem::path& file, const ImportTables& tables);

}  // namespace tilescope::imported
