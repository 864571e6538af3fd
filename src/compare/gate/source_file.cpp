#include "compare/gate/source_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "kernel/code/sass/process.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

fs::path first_that_exists(const std::vector<fs::path>& files) {
  std::error_code ignored;
  for (const fs::path& file : files)
    if (fs::is_regular_file(file, ignored)) return file;
  return {};
}

std::string git_program() {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':'))
    if (const std::string file = folder + "/git"; folder.starts_with('/') && ::access(file.c_str(), X_OK) == 0)
      return file;
  return "";
}

}  // namespace

std::string profile_name(const std::string& id) { return "profile of " + id; }
std::string descriptor_name(const std::string& kernel) { return "descriptor of " + kernel; }

std::map<std::string, fs::path> source_files(const Comparison& comparison, const fs::path& data_directory) {
  std::set<std::string> gpus, kernels;
  for (const ComparisonRow& row : comparison.rows) gpus.insert(row.hardware), kernels.insert(row.kernel);
  std::map<std::string, fs::path> files;
  for (const std::string& gpu : gpus)
    files[profile_name(gpu)] = first_that_exists({data_directory / "hardware" / (gpu + ".yaml"), gpu});
  for (const std::string& kernel : kernels)
    files[descriptor_name(kernel)] =
        first_that_exists({data_directory / "kernels" / kernel / "kernel.yaml",
                           data_directory / "kernels" / "third_party" / (kernel + ".kernel.yaml"), kernel});
  return files;
}

std::string fingerprint(const fs::path& file) {
  if (file.empty()) return "";
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : read_file(file)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

std::string commit_of(const fs::path& file) {
  const std::string git = git_program();
  if (git.empty() || file.empty()) return "";
  const std::string folder = fs::absolute(file).parent_path().string(), name = file.filename().string();
  try {
    const ProcessResult log =
        run_process({git, "-C", folder, "log", "-1", "--abbrev=12", "--date=short", "--format=%h of %cd", "--", name});
    if (log.status != 0 || log.output.empty()) return "";
    const bool committed = run_process({git, "-C", folder, "diff", "--quiet", "HEAD", "--", name}).status == 0;
    return committed ? "commit " + std::string(trimmed(log.output)) : "not committed";
  } catch (const InputError&) {
    return "";
  }
}

}  // namespace tilescope
