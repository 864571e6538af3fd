// A directory for files that a command writes and reads again.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/error.h"

namespace tilescope::cli {

// Made by the constructor and removed by the destructor.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / fmt::format("{}-{}", name, ::getpid())) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) refuse(path_.string(), "cannot be made: " + error.message());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tilescope::cli
