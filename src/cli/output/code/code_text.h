// Machine code of kernels as text or Markdown.
#pragma once

#include <vector>

#include "base/page_section.h"
#include "cli/output/code/code_columns.h"
#include "cli/output/table.h"

namespace tilescope::cli {

// For each kernel with machine code its roles, loops and matrix instructions; a table of the other kernels. CSV: a
// table of all kernels.
std::string code_text(const std::vector<InspectedKernel>& kernels, const Style& style);

}  // namespace tilescope::cli
