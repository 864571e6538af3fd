#include "kernel/code/sass/nvdisasm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "kernel/code/sass/process.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool runs(const fs::path& program) {
  std::error_code ignored;
  return fs::is_regular_file(program, ignored) && access(program.c_str(), X_OK) == 0;
}

fs::path required(const fs::path& program, const std::string& source) {
  if (!runs(program)) refuse(source, fmt::format("'{}' is not a program that can be run", program.string()));
  return program;
}

// The sub-folders of `folder` whose name starts with `prefix`, or nothing.
std::vector<fs::path> folders(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().starts_with(prefix)) found.push_back(at->path());
  std::sort(found.rbegin(), found.rend());
  return found;
}

// Triton ships the program within its Python package.
std::vector<fs::path> triton_programs(const std::vector<fs::path>& prefixes) {
  std::vector<fs::path> programs;
  for (const fs::path& prefix : prefixes) {
    std::vector<fs::path> libraries = folders(prefix / "lib", "python3");
    for (const fs::path& library : libraries)
      for (const char* packages : {"site-packages", "dist-packages"})
        programs.push_back(library / packages / "triton" / "backends" / "nvidia" / "bin" / "nvdisasm");
  }
  return programs;
}

std::vector<fs::path> candidates() {
  std::vector<fs::path> programs, prefixes;
  for (const std::string& folder : split(variable("PATH"), ':')) {
    if (folder.empty()) continue;
    programs.push_back(fs::path(folder) / "nvdisasm");
    if (fs::path(folder).filename() == "bin") prefixes.push_back(fs::path(folder).parent_path());
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string folder = variable(name); !folder.empty())
      programs.push_back(fs::path(folder) / "bin" / "nvdisasm");
  programs.emplace_back("/usr/local/cuda/bin/nvdisasm");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string folder = variable(name); !folder.empty()) prefixes.insert(prefixes.begin(), folder);
  if (const std::string home = variable("HOME"); !home.empty()) prefixes.push_back(fs::path(home) / ".local");
  const std::vector<fs::path> triton = triton_programs(prefixes);
  programs.insert(programs.end(), triton.begin(), triton.end());
  return programs;
}

// A file in a folder for temporary files, removed with the object and by a signal.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content) {
    // No write_file: that waits for the disk.
    const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    while (descriptor >= 0 && !content.empty()) {
      const ssize_t written = ::write(descriptor, content.data(), content.size());
      if (written <= 0) break;
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    if (descriptor >= 0) ::close(descriptor);
    if (descriptor >= 0 && content.empty()) return;
    throw InputError(
        Diagnostic{.file = path_, .message = "cannot be written: the disk is full; set TMPDIR to another folder"});
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory folder_{"tilescope-code"};
  std::string path_ = (folder_.path() / "code.cubin").string();
};

}  // namespace

std::optional<fs::path> find_nvdisasm(const std::optional<std::string>& given) {
  if (given) return required(*given, "--nvdisasm");
  if (const std::string named = variable("NVDISASM"); !named.empty()) return required(named, "NVDISASM");
  const std::vector<fs::path> programs = candidates();
  const auto found = std::find_if(programs.begin(), programs.end(), runs);
  return found == programs.end() ? std::nullopt : std::optional(*found);
}

const char* nvdisasm_advice() {
  return "nvdisasm was not found, so machine code was not read. It comes with the CUDA toolkit (package "
         "cuda-nvdisasm) and with Triton (pip install triton). Name it with --nvdisasm PATH or the variable NVDISASM";
}

std::string disassemble(const fs::path& nvdisasm, std::string_view cubin, const std::string& file) {
  const TemporaryFile copy(cubin);
  const ProcessResult result = run_process({nvdisasm.string(), "-c", copy.path()});
  if (result.status == 0) return result.output;
  std::string reason(trimmed(result.errors));
  if (const std::size_t place = reason.find(copy.path()); place != reason.npos)
    reason.replace(place, copy.path().size(), "it");
  throw InputError(
      Diagnostic{.file = file,
                 .message = fmt::format("{} cannot disassemble it (status {}): {}; code of a newer GPU needs "
                                        "a newer CUDA toolkit",
                                        nvdisasm.string(), result.status, shown_text(reason))});
}

}  // namespace tilescope
