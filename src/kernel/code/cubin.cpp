#include "kernel/code/cubin.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace tilescope {
namespace {

// Attributes of .nv.info sections (EIATTR_*) that are read here. Their numbers are what nvcc writes; each was compared
// with what `ptxas -v` prints for the same kernel.
enum class Attribute : std::uint8_t {
  most_threads = 0x05,
  parameter_bank = 0x0a,
  required_threads = 0x10,
  frame_size = 0x11,
  parameter = 0x17,
  cluster = 0x3d,
  registers = 0x2f,
  barriers = 0x4c,
};
// How an attribute's value is stored (EIFMT_*).
constexpr std::uint8_t format_sized = 4, format_byte = 2;
constexpr int size_shift = 18;                     // of the word that holds a parameter's size
constexpr std::int64_t most_of_a_block = 1 << 16;  // threads, or blocks of a cluster: far above what any GPU runs
constexpr std::uint8_t other_entry = 0x10;         // in st_other of a symbol: a kernel, not a function of kernels
constexpr std::int64_t reserved_shared = 1 << 10;  // by the system in each block, from compute capability 9.0 on

using Handler = std::function<void(Attribute, const ByteView& value)>;

void for_each_attribute(const ByteView& info, const Handler& handle) {
  for (std::uint64_t at = 0; at + 4 <= info.size();) {
    const auto format = info.read<std::uint8_t>(at);
    const auto attribute = static_cast<Attribute>(info.read<std::uint8_t>(at + 1));
    const std::uint64_t length = format == format_sized  ? info.read<std::uint16_t>(at + 2)
                                 : format == format_byte ? 1
                                                         : 2;
    const std::uint64_t start = format == format_sized ? at + 4 : at + 2;
    handle(attribute, {info.part(start, length), info.file()});
    at = format == format_sized ? start + length : at + 4;
  }
}

// ABI 8 (CUDA 13) holds ten times the compute capability in the second byte of the flags, earlier ones in the first.
std::string capability_of(const ElfFile& elf) {
  const std::uint32_t number = elf.abi_version >= 8 ? elf.flags >> 8 & 0xff : elf.flags & 0xff;
  return fmt::format("{}.{}", number / 10, number % 10);
}

// The product of an attribute's words: the sizes of a block or a cluster by dimension.
std::int64_t product_of(const ByteView& value, const char* things) {
  std::int64_t product = 1;
  for (std::uint64_t at = 0; at + 4 <= value.size(); at += 4) {
    product *= std::max<std::uint32_t>(1, value.read<std::uint32_t>(at));
    if (product > most_of_a_block) value.fail(fmt::format("states over {} {}: it is damaged", most_of_a_block, things));
  }
  return product;
}

void add_own_attributes(const ElfFile& elf, CubinKernel& kernel) {
  const ElfSection* own = elf.find(".nv.info." + kernel.name);
  if (own == nullptr) return;
  std::map<std::uint32_t, KernelParameter> parameters;  // by place in the source
  for_each_attribute(elf.bytes_of(*own), [&](Attribute attribute, const ByteView& value) {
    if (attribute == Attribute::most_threads || attribute == Attribute::required_threads)
      kernel.most_threads = product_of(value, "threads of a block");
    if (attribute == Attribute::cluster && value.size() >= 4)
      kernel.cluster_blocks = product_of(value, "blocks of a cluster");
    if (attribute == Attribute::parameter_bank) kernel.parameters_offset = value.read<std::uint16_t>(4);
    if (attribute == Attribute::barriers) kernel.barriers = value.read<std::uint8_t>(0);
    if (attribute == Attribute::parameter)
      parameters[value.read<std::uint16_t>(4)] = {value.read<std::uint16_t>(6),
                                                  value.read<std::uint32_t>(8) >> size_shift};
  });
  for (const auto& [place, parameter] : parameters) kernel.parameters.push_back(parameter);
}

bool is_function(const ElfFile& elf, const std::string& name) {
  const auto found = std::find(elf.symbols.begin(), elf.symbols.end(), name);
  return found != elf.symbols.end() &&
         (elf.st_others[static_cast<std::size_t>(found - elf.symbols.begin())] & other_entry) == 0;
}

}  // namespace

Cubin read_cubin(const ByteView& view) {
  const ElfFile elf = read_elf(view);
  if (elf.machine != ElfFile::cuda_machine) view.fail("is an ELF file without device code: expected a cubin");
  Cubin cubin{.compute_capability = capability_of(elf), .kernels = {}, .image = std::string(view.bytes())};
  std::map<std::string, std::int64_t> registers, frames;  // by symbol
  if (const ElfSection* common = elf.find(".nv.info"))
    for_each_attribute(elf.bytes_of(*common), [&](Attribute attribute, const ByteView& value) {
      if (attribute != Attribute::registers && attribute != Attribute::frame_size) return;
      const auto symbol = value.read<std::uint32_t>(0);
      if (symbol >= elf.symbols.size()) view.fail("names a symbol that it does not have: it is damaged");
      (attribute == Attribute::registers ? registers : frames)[elf.symbols[symbol]] = value.read<std::uint32_t>(4);
    });
  const bool reserves = cubin.compute_capability.size() > 3 || cubin.compute_capability >= "9.0";
  for (const ElfSection& section : elf.sections) {
    constexpr std::string_view prefix = ".text.";
    if (!section.name.starts_with(prefix)) continue;
    CubinKernel kernel{.name = section.name.substr(prefix.size()),
                       .parameters = {},
                       .code = std::string(elf.bytes_of(section).bytes())};
    if (elf.find(".nv.info." + kernel.name) == nullptr) continue;  // a function that kernels call
    kernel.registers = registers[kernel.name], kernel.local_bytes = frames[kernel.name];
    if (const ElfSection* shared = elf.find(".nv.shared." + kernel.name))
      kernel.shared_bytes =
          std::max<std::int64_t>(0, static_cast<std::int64_t>(shared->size) - (reserves ? reserved_shared : 0));
    kernel.linked = !elf.relocatable, kernel.is_function = is_function(elf, kernel.name);
    add_own_attributes(elf, kernel);
    cubin.kernels.push_back(std::move(kernel));
  }
  std::sort(cubin.kernels.begin(), cubin.kernels.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cubin;
}

}  // namespace tilescope
