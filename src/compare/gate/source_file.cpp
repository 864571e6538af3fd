#include "compare/gate/source_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "kernel/code/sass/process.h"
#include "kernel/descriptor/read_code.h"

namespace tilescope {
namespace {

namespace fs = std::filesystem;

fs::path first_that_exists(const std::vector<fs::path>& files) {
  std::error_code ignored;
  for (const fs::path& file : files)
    if (fs::is_regular_file(file, ignored)) return file;
  return {};
}

// In kernels/NAME, or in the folder of the kernel that it is a form of; else `kernel` is a file.
fs::path descriptor_file(const fs::path& kernels, const std::string& kernel) {
  std::vector<fs::path> places{kernels / kernel / "kernel.yaml"};
  std::error_code ignored;
  for (const auto& folder : fs::directory_iterator(kernels, ignored))
    places.push_back(folder.path() / (kernel + ".kernel.yaml"));
  places.emplace_back(kernel);
  return first_that_exists(places);
}

// NAME.steps.zst beside NAME.code.json.
fs::path steps_file_of(const fs::path& code) {
  constexpr std::string_view ending = "code.json";
  const std::string name = code.filename().string();
  if (!name.ends_with(ending)) return {};
  return code.parent_path() / (name.substr(0, name.size() - ending.size()) + "steps.zst");
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
std::vector<std::string> kernel_names(const std::string& kernel) {
  return {"descriptor of " + kernel, "machine code of " + kernel, "steps of " + kernel};
}

std::map<std::string, fs::path> source_files(const Comparison& comparison, const fs::path& data_directory) {
  std::set<std::string> gpus, kernels;
  for (const ComparisonRow& row : comparison.rows) gpus.insert(row.hardware), kernels.insert(row.kernel);
  std::map<std::string, fs::path> files;
  for (const std::string& gpu : gpus)
    files[profile_name(gpu)] = first_that_exists({data_directory / "hardware" / (gpu + ".yaml"), gpu});
  for (const std::string& kernel : kernels) {
    const fs::path descriptor = descriptor_file(data_directory / "kernels", kernel);
    const fs::path code = reading::code_file_of(descriptor);
    const std::vector<std::string> names = kernel_names(kernel);
    files[names[0]] = descriptor;
    for (std::size_t i = 1; i < names.size(); ++i)
      if (const fs::path file = first_that_exists({i == 1 ? code : steps_file_of(code)}); !file.empty())
        files[names[i]] = file;
  }
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
