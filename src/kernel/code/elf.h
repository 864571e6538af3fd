// Sections and symbols of a 64-bit little-endian ELF file: of a host program, or of device code (a cubin).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/code/byte_view.h"

namespace tilescope {

struct ElfSection {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t offset = 0, size = 0;
  std::uint32_t link = 0, info = 0;
  bool in_file = true;  // false: it takes memory but no bytes of the file
};

struct ElfFile {
  static constexpr std::uint16_t cuda_machine = 190;

  ByteView view;
  std::uint16_t machine = 0;
  std::uint8_t abi_version = 0;
  std::uint32_t flags = 0;
  std::vector<ElfSection> sections;
  bool relocatable = false;             // an object that no linker has seen
  std::vector<std::string> symbols;     // names, by index
  std::vector<std::uint8_t> st_others;  // of the symbols: visibility, and bits of the machine

  const ElfSection* find(const std::string& name) const;
  ByteView bytes_of(const ElfSection& section) const;  // of a section in the file
};

bool is_elf(std::string_view bytes);

// Throws InputError for a file that is not a 64-bit little-endian ELF, or is cut off.
ElfFile read_elf(const ByteView& view);

}  // namespace tilescope
