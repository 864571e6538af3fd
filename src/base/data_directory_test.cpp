#include "base/data_directory.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace tilescope::data_directory_test {
namespace {

// Sets TILESCOPE_DATA for the duration of a test.
class DataVariable {
 public:
  explicit DataVariable(const std::string& value) { ::setenv("TILESCOPE_DATA", value.c_str(), 1); }
  DataVariable(const DataVariable&) = delete;
  DataVariable& operator=(const DataVariable&) = delete;
  ~DataVariable() { ::unsetenv("TILESCOPE_DATA"); }
};

}  // namespace

TEST_CASE("a build uses the data of its source tree by default") {
  CHECK(data_directory() == std::filesystem::canonical(TILESCOPE_SOURCE_DIR));
}

TEST_CASE("TILESCOPE_DATA sets the data folder, and the error for a folder without data names the variable") {
  {
    const DataVariable variable(TILESCOPE_SOURCE_DIR);
    CHECK(data_directory() == TILESCOPE_SOURCE_DIR);
  }
  const DataVariable variable("/nonexistent");
  CHECK_THROWS_WITH_AS(data_directory(),
                       "error: TILESCOPE_DATA: expected a folder that holds hardware/ and models/schedules/, found "
                       "'/nonexistent'; correct the environment variable or unset it",
                       InputError);
}

}  // namespace tilescope::data_directory_test
