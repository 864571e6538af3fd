// Reads what `nvdisasm -c` prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/code/sass/instruction.h"

namespace tilescope {

// The sections of code of a listing, in its order, with the registers of each instruction; without the fields that only
// the encoding has. Throws InputError, which names `source` and the line, for a listing that is cut off, damaged, or
// whose branches leave their section.
std::vector<CodeSection> read_listing(std::string_view listing, const std::string& source);

}  // namespace tilescope
