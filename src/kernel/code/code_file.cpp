#include "kernel/code/code_file.h"

#include <algorithm>

#include "base/files.h"
#include "kernel/code/fatbin.h"

namespace tilescope {
namespace {

constexpr std::size_t most_file_bytes = std::size_t{4} << 30;
constexpr const char* fatbin_section = ".nv_fatbin";
constexpr std::string_view fatbin_magic = "\x50\xed\x55\xba";

std::vector<Cubin> cubins_of(const std::vector<FatbinEntry>& entries, const std::string& file) {
  std::vector<Cubin> cubins;
  for (const FatbinEntry& entry : entries) cubins.push_back(read_cubin({entry.cubin, file}));
  return cubins;
}

}  // namespace

std::vector<Cubin> read_code_file(const std::filesystem::path& file) {
  const std::string bytes = read_file(file, most_file_bytes);
  const ByteView view(bytes, file.string());
  std::vector<Cubin> cubins;
  if (view.bytes().starts_with(fatbin_magic)) {
    cubins = cubins_of(read_fatbin(view), view.file());
  } else if (is_elf(view.bytes())) {
    const ElfFile elf = read_elf(view);
    if (elf.machine == ElfFile::cuda_machine) return {read_cubin(view)};
    for (const ElfSection& section : elf.sections)
      if (section.name == fatbin_section || section.name == "__nv_relfatbin") {
        const std::vector<Cubin> more = cubins_of(read_fatbin(elf.bytes_of(section)), view.file());
        cubins.insert(cubins.end(), more.begin(), more.end());
      }
  } else {
    view.fail("expected a cubin, a fat binary, or an object, program or shared library with CUDA code");
  }
  if (cubins.empty())
    view.fail("has no machine code of a GPU; PTX alone is not enough, compile for a GPU (-arch=sm_90a)");
  return cubins;
}

}  // namespace tilescope
