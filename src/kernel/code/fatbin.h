// Device code inside a host's object, program or shared library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel/code/byte_view.h"

namespace tilescope {

struct FatbinEntry {
  std::string compute_capability;  // "8.0"
  std::string cubin;               // bytes of the ELF file
};

// The cubins of a fat binary container, or of several that follow each other (the section .nv_fatbin), decompressed.
// PTX is skipped. Throws InputError where the container is damaged or its compression is not known. `use` gets them one
// after the other, so that a library of gigabytes takes the memory of one.
void for_each_entry(const ByteView& view, const std::function<void(FatbinEntry&&)>& use);
std::vector<FatbinEntry> read_fatbin(const ByteView& view);

}  // namespace tilescope
