// Reads what `nvdisasm -c` prints.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/code/sass/instruction.h"

namespace tilescope {

// The sections of code of a listing, in its order, with the registers of each instruction; without the fields that only
// the encoding has. Throws InputError, which names `source` and the line, for a listing that is cut off, damaged, or
// whose branches leave their section. Of a listing with many kernels, sections that are not among `only` are passed
// over; empty: none is.
std::vector<CodeSection> read_listing(std::string_view listing, const std::string& source,
                                      const std::set<std::string>& only = {});

}  // namespace tilescope
