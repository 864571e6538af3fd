#include "kernel/code/elf.h"

#include <algorithm>

namespace tilescope {
namespace {

// System V ABI, "Object Files": the file header, section headers and symbols of class ELFCLASS64.
constexpr std::uint64_t section_header_bytes = 64, symbol_bytes = 24;
constexpr std::uint32_t section_without_bytes = 8, section_of_symbols = 2;
constexpr std::uint16_t type_relocatable = 1;
constexpr std::uint64_t type_offset = 16, other_offset = 5;

}  // namespace

bool is_elf(std::string_view bytes) {
  return bytes.starts_with(
      "\x7f"
      "ELF");
}

const ElfSection* ElfFile::find(const std::string& name) const {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const ElfSection& section) { return section.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

ByteView ElfFile::bytes_of(const ElfSection& section) const {
  return {section.in_file ? view.part(section.offset, section.size) : std::string_view{}, view.file()};
}

ElfFile read_elf(const ByteView& view) {
  if (!is_elf(view.bytes())) view.fail("is not an ELF file");
  constexpr std::uint8_t class_64 = 2, little_endian = 1;
  if (view.read<std::uint8_t>(4) != class_64 || view.read<std::uint8_t>(5) != little_endian)
    view.fail("expected a 64-bit little-endian ELF file");
  ElfFile elf{.view = view,
              .machine = view.read<std::uint16_t>(18),
              .abi_version = view.read<std::uint8_t>(8),
              .flags = view.read<std::uint32_t>(48),
              .sections = {},
              .relocatable = view.read<std::uint16_t>(type_offset) == type_relocatable,
              .symbols = {},
              .st_others = {}};
  const auto headers = view.read<std::uint64_t>(40);
  const auto count = view.read<std::uint16_t>(60), names = view.read<std::uint16_t>(62);
  view.part(headers, count * section_header_bytes);
  const std::uint64_t name_table =
      names < count ? view.read<std::uint64_t>(headers + names * section_header_bytes + 24) : 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = headers + i * section_header_bytes;
    ElfSection section;
    section.type = view.read<std::uint32_t>(at + 4);
    section.in_file = section.type != section_without_bytes;
    section.offset = view.read<std::uint64_t>(at + 24), section.size = view.read<std::uint64_t>(at + 32);
    section.link = view.read<std::uint32_t>(at + 40), section.info = view.read<std::uint32_t>(at + 44);
    if (section.type != 0) section.name = view.text(name_table + view.read<std::uint32_t>(at));
    elf.sections.push_back(std::move(section));
  }
  for (const ElfSection& section : elf.sections) {
    if (section.type != section_of_symbols) continue;
    if (section.link >= elf.sections.size()) view.fail("has symbols without names: it is damaged");
    const ByteView symbols = elf.bytes_of(section), texts = elf.bytes_of(elf.sections[section.link]);
    for (std::uint64_t at = 0; at + symbol_bytes <= symbols.size(); at += symbol_bytes) {
      elf.symbols.push_back(texts.text(symbols.read<std::uint32_t>(at)));
      elf.st_others.push_back(symbols.read<std::uint8_t>(at + other_offset));
    }
    break;
  }
  return elf;
}

}  // namespace tilescope
