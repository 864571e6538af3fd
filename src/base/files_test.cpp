#include "base/files.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "base/error.h"

namespace files_test {

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

TEST_CASE("a replaced file keeps its mode, and a link keeps pointing at the file that is replaced") {
  const ScratchFolder folder;
  write_file(folder / "real", "old");
  fs::permissions(folder / "real", fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("real", folder / "link");
  write_file(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file(folder / "real") == "new");
  CHECK((fs::status(folder / "real").permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  fs::create_symlink("loop", folder / "loop");
  CHECK(message([&] { write_file(folder / "loop", "x"); }).find("leads to too many others") != std::string::npos);
}

TEST_CASE("a link that waits under the name of a temporary is not followed") {
  const ScratchFolder folder;
  write_file(folder / "victim", "kept");
  for (const std::string& name : {"o.tmp" + std::to_string(::getpid()), std::string(".o.XXXXXX")})
    fs::create_symlink("victim", folder / name);
  write_file(folder / "o", "new");
  CHECK(read_file(folder / "victim") == "kept");
  CHECK(read_file(folder / "o") == "new");
}

TEST_CASE("a temporary directory goes with its object and is its owner's alone") {
  fs::path path;
  {
    const TemporaryDirectory directory("tilescope-test");
    path = directory.path();
    write_file(path / "f", "x");
    CHECK((fs::status(path).permissions() & fs::perms::mask) == fs::perms::owner_all);
  }
  CHECK_FALSE(fs::exists(path));
}

}  // namespace files_test
