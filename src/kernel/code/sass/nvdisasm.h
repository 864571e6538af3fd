// Runs nvdisasm, NVIDIA's disassembler.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

// The program to run: `given` (--nvdisasm), else the variable NVDISASM, else the first of PATH, CUDA_HOME, CUDA_PATH,
// /usr/local/cuda and installed Triton packages. Nothing: there is none. Throws InputError if `given` or NVDISASM names
// no program.
std::optional<std::filesystem::path> find_nvdisasm(const std::optional<std::string>& given);

// What to do where there is none.
const char* nvdisasm_advice();

// The listing of a cubin. Throws InputError, which names `file`, when the program cannot run or refuses the cubin.
std::string disassemble(const std::filesystem::path& nvdisasm, std::string_view cubin, const std::string& file);

}  // namespace tilescope
