// Exports of Nsight Systems: nsys export --type sqlite.
#pragma once

#include <filesystem>

#include "import/operators.h"

namespace tilescope::imported {

// Launches with their times. NVTX ranges that PyTorch makes (nsys profile --pytorch=autograd-shapes-nvtx, or
// torch.autograd.profiler.emit_nvtx(record_shapes=True)) are calls of operators with shapes, but without formats and
// masks. Throws InputError.
ToolFile read_nsys_sqlite(const std::filesystem::path& file, const OperatorTable& table);

// The operator of such a range: "aten::mm, seq = 4, op_id = 9, sizes = [[2, 3], [3, 4]]".
ToolOperator operator_of_range(const std::string& text);

}  // namespace tilescope::imported
