#include "base/files.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "base/error.h"

using namespace tilescope;

namespace {

namespace fs = std::filesystem;

class ScratchFolder {
 public:
  ScratchFolder() : path_(fs::temp_directory_path() / ("tilescope_files_" + std::to_string(::getpid()))) {
    fs::create_directory(path_);
  }
  ~ScratchFolder() { fs::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

template <class Action>
std::string message(Action action) {
  try {
    action();
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a written file is read back unchanged, and no temporary file is left") {
  const ScratchFolder folder;
  const std::string bytes("a\0b\r\n\xff", 6);
  write_file(folder / "f", bytes);
  CHECK(read_file(folder / "f") == bytes);
  write_file(folder / "f", "");
  CHECK(read_file(folder / "f").empty());
  CHECK(folder.entries() == 1);
}

TEST_CASE("a failed read states the reason") {
  const ScratchFolder folder;
  write_file(folder / "f", "12345");
  CHECK(read_file(folder / "f", 5) == "12345");
  CHECK(message([&] { read_file(folder / "f", 4); }) ==
        (folder / "f").string() + ": error: is larger than the 4 bytes this kind of file may have");
  CHECK(message([&] { read_file(folder / "none"); }) ==
        (folder / "none").string() + ": error: no such file; check the path");
  CHECK(message([&] { read_file(folder / ""); }).find("is a directory, expected a file") != std::string::npos);
}

TEST_CASE("a failed write states the reason and leaves the old file unchanged") {
  const ScratchFolder folder;
  CHECK(message([&] { write_file(folder / "none/f", "x"); }).find("cannot be written: No such file or directory") !=
        std::string::npos);
  CHECK(message([&] { write_file(folder / "", "x"); }).find("is a directory") != std::string::npos);
  CHECK(message([&] {
          write_file("/dev/full", "x");
        }).find("/dev/full: error: cannot be written: No space left on device") == 0);
  CHECK_NOTHROW(write_file("/dev/null", "x"));
  CHECK(folder.entries() == 0);
}
