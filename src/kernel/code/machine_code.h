// What the machine code of a file's kernels does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernel/code/cubin.h"
#include "kernel/code/summary/code_summary.h"

namespace tilescope {

// Disassembles a cubin once and summarises the code of some of its kernels, in their order. Throws InputError, which
// names `file`, when the disassembler fails or lists no code of one of them.
std::vector<CodeSummary> machine_code(const std::filesystem::path& nvdisasm, const Cubin& cubin,
                                      const std::vector<const CubinKernel*>& kernels, const std::string& file);

}  // namespace tilescope
