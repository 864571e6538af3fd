// The front door: reads a file of any form that is known, recognised by its first bytes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "import/operators.h"
#include "import/tool_file.h"

namespace tilescope::imported {

// Throws InputError for a file that is none of these, or is damaged. `ignored`: metrics of ncu to leave out.
ToolFile read_tool_file(const std::filesystem::path& file, const OperatorTable& operators,
                        const std::vector<std::string>& ignored);

OperatorTable shipped_operators();

}  // namespace tilescope::imported
