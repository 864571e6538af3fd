#include "kernel/code/code_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "kernel/code/fatbin.h"

namespace tilescope {
namespace {

constexpr const char* fatbin_section = ".nv_fatbin";
constexpr std::string_view fatbin_magic = "\x50\xed\x55\xba";

// A file's bytes without a copy of them: libraries have gigabytes, of which headers and machine code are read.
class FileBytes {
 public:
  explicit FileBytes(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (descriptor >= 0 && ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      length_ = static_cast<std::size_t>(info.st_size);
      mapped_ = ::mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    if (descriptor >= 0) ::close(descriptor);
    if (mapped_ == MAP_FAILED) read_ = read_file(file);  // a pipe, or what cannot be opened
  }
  ~FileBytes() {
    if (mapped_ != MAP_FAILED) ::munmap(mapped_, length_);
  }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  std::string_view bytes() const {
    return mapped_ == MAP_FAILED ? std::string_view(read_) : std::string_view(static_cast<char*>(mapped_), length_);
  }

 private:
  void* mapped_ = MAP_FAILED;
  std::size_t length_ = 0;
  std::string read_;
};

}  // namespace

void for_each_cubin(const std::filesystem::path& file, const std::function<void(Cubin&&)>& use) {
  const FileBytes whole(file);
  const ByteView view(whole.bytes(), file.string());
  bool found = false;
  const auto use_entries = [&](const ByteView& container) {
    for_each_entry(container, [&](FatbinEntry&& entry) {
      found = true;
      use(read_cubin({entry.cubin, view.file()}));
    });
  };
  if (view.bytes().starts_with(fatbin_magic)) {
    use_entries(view);
  } else if (is_elf(view.bytes())) {
    const ElfFile elf = read_elf(view);
    if (elf.machine == ElfFile::cuda_machine) return use(read_cubin(view));
    for (const ElfSection& section : elf.sections)
      if (section.name == fatbin_section || section.name == "__nv_relfatbin") use_entries(elf.bytes_of(section));
  } else {
    view.fail("expected a cubin, a fat binary, or an object, program or shared library with CUDA code");
  }
  if (!found) view.fail("has no machine code of a GPU; PTX alone is not enough, compile for a GPU (-arch=sm_90a)");
}

std::vector<Cubin> read_code_file(const std::filesystem::path& file) {
  std::vector<Cubin> cubins;
  for_each_cubin(file, [&](Cubin&& cubin) { cubins.push_back(std::move(cubin)); });
  return cubins;
}

}  // namespace tilescope
