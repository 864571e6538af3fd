#include <doctest/doctest.h>

#include <filesystem>

#include "base/files.h"
#include "compare/compare.h"

using namespace tilescope;

TEST_CASE("calibration counts the records whose error is within the p90 error of the other records") {
  CHECK(bar_held({}) == 0);
  CHECK(bar_held({0.1}) == 0);
  CHECK(bar_held({0.1, 0.1, 0.1}) == 1);
  CHECK(bar_held({0.1, 0.2}) == 0.5);  // each error is judged by the other error alone
  std::vector<double> errors;
  for (int i = 1; i <= 20; ++i) errors.push_back(0.01 * i);
  CHECK(bar_held(errors) == doctest::Approx(0.9));  // the two largest errors are outside
}

TEST_CASE("a regime with enough records has its own error; other regimes have the error of all records") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tilescope_errors_test.json";
  const auto row = [](const char* regime, double mape, int n) {
    return Json{{"hardware", "g"},
                {"kernel", "k"},
                {"quantity", "seconds"},
                {"regime", regime ? Json(regime) : Json(nullptr)},
                {"mape", mape},
                {"p90", 2 * mape},
                {"n", n},
                {"basis", "b"}};
  };
  write_file(file, Json{{"rows", {row(nullptr, 0.3, 9), row("short", 0.5, 4), row("compute", 0.1, 5)}}}.dump());
  const auto mape = [&](const char* regime) { return recorded_error(file, "g", "k", "seconds", regime)->mape; };
  CHECK(mape("compute") == 0.1);
  CHECK(mape("short") == 0.3);
  CHECK(mape("memory") == 0.3);
  CHECK_FALSE(recorded_error(file, "g", "other", "seconds", "compute"));
  CHECK_FALSE(recorded_error(file, "g", "k", "hbm_read_bytes", "compute"));
  CHECK_FALSE(recorded_error(file.string() + ".none", "g", "k", "seconds", "compute"));
  write_file(file, "{}");
  CHECK_THROWS_WITH(recorded_error(file, "g", "k", "seconds", ""), doctest::Contains("is not an error summary"));
  std::filesystem::remove(file);
}
