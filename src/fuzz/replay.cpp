// Without libFuzzer: gives files to targets. usage: tilescope_fuzz CORPUS, a folder with a folder a target, or
// tilescope_fuzz TARGET FILE...
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/files.h"
#include "fuzz/target.h"

namespace {

using namespace tilescope::fuzz;
namespace fs = std::filesystem;

constexpr std::chrono::seconds longest{10};

// Prints why an input is a defect. Signals and sanitizers end the program: the name of the input is printed before.
bool replayed(const Target& target, const fs::path& file) {
  const std::string place = std::string(target.name) + " " + file.string();
  std::fprintf(stderr, "%s\n", place.c_str());
  const auto begin = std::chrono::steady_clock::now();
  try {
    run_target(target, tilescope::read_file(file));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "  ended with: %s\n", error.what());
    return false;
  }
  if (std::chrono::steady_clock::now() - begin < longest) return true;
  std::fprintf(stderr, "  took more than %lld s\n", static_cast<long long>(longest.count()));
  return false;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

int replay(const std::vector<std::string>& words) {
  std::size_t count = 0, failed = 0;
  const auto take = [&](const Target& target, const fs::path& file) {
    ++count;
    failed += replayed(target, file) ? 0 : 1;
  };
  if (words.size() == 1) {
    for (const fs::path& folder : files_below(words[0])) {
      const Target* target = find_target(folder.filename().string());
      if (target == nullptr) {
        std::fprintf(stderr, "%s: no target has this name\n", folder.c_str());
        return 2;
      }
      for (const fs::path& file : files_below(folder)) take(*target, file);
    }
  } else if (const Target* target = words.empty() ? nullptr : find_target(words[0])) {
    for (std::size_t i = 1; i < words.size(); ++i) take(*target, words[i]);
  } else {
    std::fprintf(stderr, "usage: tilescope_fuzz CORPUS | TARGET FILE...\n");
    return 2;
  }
  std::fprintf(stderr, "%zu inputs, %zu defects\n", count, failed);
  return failed == 0 && count > 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  silence();
  return replay({words + 1, words + count});
}
