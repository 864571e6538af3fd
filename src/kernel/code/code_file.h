// The device code of a file: a cubin, a fat binary, or a host's object, program or shared library.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "kernel/code/cubin.h"

namespace tilescope {

// All cubins, in the order of the file. Throws InputError when the file is missing, damaged, or has no machine code:
// the message says what was found instead. `use` gets them one after the other, so that a library of gigabytes takes
// the memory of one cubin.
void for_each_cubin(const std::filesystem::path& file, const std::function<void(Cubin&&)>& use);
std::vector<Cubin> read_code_file(const std::filesystem::path& file);

}  // namespace tilescope
