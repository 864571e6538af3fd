// Traces of torch.profiler: Chrome JSON, also compressed by gzip.
#pragma once

#include <filesystem>

#include "import/operators.h"

namespace tilescope::imported {

// Launches with their times, and the calls of operators of the table that they lie in. Shapes are there where the
// profiler ran with record_shapes=True. Throws InputError.
ToolFile read_torch_trace(const std::filesystem::path& file, const OperatorTable& table);

}  // namespace tilescope::imported
