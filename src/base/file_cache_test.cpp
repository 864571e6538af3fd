#include "base/file_cache.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "base/files.h"

namespace tilescope::file_cache_test {

TEST_CASE("a value of a file is made once, and again when the file changes") {
  const TemporaryDirectory directory("cache");
  const std::filesystem::path file = directory.path() / "value";
  FileCache<std::string> cache;
  int made = 0;
  const auto get = [&] {
    return *cache.get("value", {file}, [&] {
      ++made;
      return read_file(file);
    });
  };
  CHECK_THROWS(get());  // there is none: nothing is kept
  write_file(file, "one");
  CHECK(get() == "one");
  CHECK(get() == "one");
  CHECK(made == 2);
  write_file(file, "another");
  CHECK(get() == "another");
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  CHECK(get() == "another");
  CHECK(made == 4);
}

}  // namespace tilescope::file_cache_test
