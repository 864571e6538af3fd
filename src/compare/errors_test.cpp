#include "compare/errors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <vector>

#include "base/files.h"
#include "base/test_seed.h"

namespace errors_test {

using namespace tilescope;

namespace {

ObservedError seen(const std::string& hardware, const std::string& kernel, const std::string& regime, double error,
                   double q_len = 1024) {
  return {hardware, kernel, "seconds", regime, "", {{"q_len", q_len}}, error, false};
}

// Errors 1 %, 2 %, ... of a kernel.
void add_some(std::vector<ObservedError>& list, int count, const std::string& hardware, const std::string& kernel,
              const std::string& regime, double scale = 1) {
  for (int i = 1; i <= count; ++i) list.push_back(seen(hardware, kernel, regime, 0.01 * scale * i));
}

}  // namespace

TEST_CASE("the bar of n errors is the ceil(0.9 (n + 1))-th smallest") {
  std::vector<double> errors;
  for (int i = 1; i <= 9; ++i) errors.push_back(0.01 * i);
  CHECK(bar_of(errors) == 0.09);  // the largest of nine
  for (int i = 10; i <= 19; ++i) errors.push_back(0.01 * i);
  CHECK(bar_of(errors) == doctest::Approx(0.18));  // the 18th of 19
  CHECK(bar_of({}) == 0);
}

TEST_CASE("calibration of a group counts the errors that are within the p90 of the others") {
  CHECK(bar_held({}) == 0);
  CHECK(bar_held({0.1}) == 0);
  CHECK(bar_held({0.1, 0.1, 0.1}) == 1);
  CHECK(bar_held({0.1, 0.2}) == 0.5);  // each error is judged by the other error alone
  std::vector<double> errors;
  for (int i = 1; i <= 19; ++i) errors.push_back(0.01 * i);
  CHECK(bar_held(errors) == doctest::Approx(18.0 / 19));
  std::mt19937 random(test_seed());  // as defined, each error without itself
  for (int round = 0; round < 200; ++round) {
    std::vector<double> drawn(2 + random() % 60);
    for (double& each : drawn) each = static_cast<double>(random() % 20);
    double held = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      std::vector<double> others = drawn;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      held += drawn[i] <= bar_of(others);
    }
    CHECK(bar_held(drawn) == held / static_cast<double>(drawn.size()));
  }
}

TEST_CASE("an error bar is of the GPU, kernel and regime, or says from where it is borrowed") {
  std::vector<ObservedError> observed;
  add_some(observed, 9, "a", "fast", "compute");
  add_some(observed, 5, "a", "fast", "memory");
  add_some(observed, 12, "a", "slow", "compute", 2);
  add_some(observed, 3, "b", "fast", "compute", 3);
  const ErrorBars bars = error_bars(observed);
  const auto own = bars.find({"a", "fast", "seconds", "compute"});
  REQUIRE(own);
  CHECK(own->p90 == doctest::Approx(0.09));
  CHECK(own->borrowed_from == "");
  CHECK(own->basis == "9 compute records of fast on a");
  const auto regimes = bars.find({"a", "fast", "seconds", "memory"});
  CHECK(regimes->borrowed_from == "all regimes of fast on a");
  CHECK(regimes->n == 14);
  const auto gpu = bars.find({"b", "fast", "seconds", "compute"});
  CHECK(gpu->borrowed_from == "fast on a");
  CHECK(gpu->p90 >= 0.09);  // the three records on b reach 9 %
  const auto kernels = bars.find({"a", "new", "seconds", "compute"});
  CHECK(kernels->borrowed_from == "all kernels on a");
  const auto both = bars.find({"c", "new", "seconds", "compute"});
  CHECK(both->borrowed_from == "all kernels on a");
  CHECK_FALSE(bars.find({"a", "fast", "watts", "compute"}));
  const auto unmeasured = bars.find({"a", "", "seconds", "compute"});  // what has no records takes no kernel's
  CHECK(unmeasured->borrowed_from == "all kernels on a");
  CHECK(unmeasured->p90 == kernels->p90);
}

TEST_CASE("published times count as measurements of their GPU") {
  std::vector<ObservedError> observed;
  add_some(observed, 20, "a", "slow", "compute");
  for (int i = 1; i <= 10; ++i) {
    observed.push_back(seen("a", "fast", "", 0.02 * i));
    observed.back().table = "figure";
  }
  const ErrorBars bars = error_bars(observed);
  const auto here = bars.find({"a", "fast", "seconds", "compute"});
  CHECK(here->borrowed_from == "");
  CHECK(here->basis == "10 published times of fast on a (figure)");
  CHECK(here->p90 == doctest::Approx(0.2));
  CHECK(bars.find({"b", "fast", "seconds", "compute"})->borrowed_from == "published times of fast on a");
}

TEST_CASE("a bar widens by what another part of the records needed, and by each doubling beyond a measured size") {
  std::vector<ObservedError> observed;
  add_some(observed, 20, "a", "fast", "compute");
  add_some(observed, 20, "b", "fast", "compute", 2);  // twice the error: a bar borrowed from a must be doubled
  for (int i = 0; i < 5; ++i) observed.push_back(seen("a", "fast", "compute", 0.19, 16));  // errors grow at short q_len
  const std::vector<ErrorWidening> found = widenings(observed, "seconds");
  const auto factor = [&](const char* cause) {
    return std::find_if(found.begin(), found.end(), [&](const auto& each) { return each.cause == cause; })->factor;
  };
  CHECK(factor("gpu") == doctest::Approx(0.38 / bar_of({0.19, 0.19, 0.19, 0.19, 0.19, 0.18, 0.17, 0.16, 0.15, 0.14,
                                                        0.13, 0.12, 0.11, 0.1, 0.2}))
                             .epsilon(0.1));
  CHECK(factor("gpu") > 1.5);
  CHECK(factor("kernel") == 1);  // there is no other kernel
  const ErrorBars bars = error_bars(observed);
  const auto at = [&](double q_len) {
    return bars.find({"a", "fast", "seconds", "compute", {{"q_len", q_len}}})->widened;
  };
  CHECK(at(16) == 1);
  CHECK(at(1024) == 1);
  CHECK(at(2048) == doctest::Approx(1 + factor("larger")));
  CHECK(at(4) == doctest::Approx(1 + 2 * factor("smaller")));
}

TEST_CASE("blind points are judged by the bars of all other measurements") {
  std::vector<ObservedError> observed;
  add_some(observed, 20, "a", "fast", "compute");
  for (const double error : {0.05, 0.1, 0.15, 0.5}) {
    observed.push_back(seen("a", "fast", "compute", error));
    observed.back().blind = true;
  }
  const std::vector<Calibration> parts = calibration(observed);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].n == 4);
  CHECK(parts[0].held == 3);
  CHECK(parts[0].borrowed == 0);
}

TEST_CASE("error bars are read back as they were written; another file is refused") {
  std::vector<ObservedError> observed;
  add_some(observed, 12, "a", "fast", "compute");
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tilescope_errors_test.json";
  const ErrorBars written = error_bars(observed);
  write_file(file, to_json(written).dump());
  const ErrorBars read = ErrorBars::load(file);
  CHECK(read.rows().size() == written.rows().size());
  CHECK(read.find({"a", "fast", "seconds", "compute"})->p90 == doctest::Approx(0.12));
  CHECK_FALSE(ErrorBars::load(file.string() + ".none").find({"a", "fast", "seconds", "compute"}));
  write_file(file, "{}");
  CHECK_THROWS_WITH(ErrorBars::load(file), doctest::Contains("is not an error summary"));
  const std::pair<const char*, Json> wrong[] = {{"/schema", "tilescope/records/1"},
                                                {"/rows/0/p90", -0.5},
                                                {"/rows/0/mape", 1e300},
                                                {"/rows/0/n", -3},
                                                {"/rows", 3},
                                                {"/rows/0/sizes/q_len", {5, -1}},
                                                {"/widening/0/factor", -4}};
  for (const auto& [pointer, value] : wrong) {
    CAPTURE(pointer);
    Json changed = to_json(written);
    changed[Json::json_pointer(pointer)] = value;
    write_file(file, changed.dump());
    CHECK_THROWS_WITH(ErrorBars::load(file), doctest::Contains("is not an error summary"));
  }
  std::filesystem::remove(file);
}

TEST_CASE("the rows of one kernel, read alone, answer what all rows answer") {
  const std::filesystem::path file = std::string(TILESCOPE_SOURCE_DIR) + "/validate/errors.json";
  const ErrorBars all = ErrorBars::load(file);
  std::set<std::string> kernels{"no_such_kernel"}, gpus{"no_such_gpu"};
  for (const ErrorRow& row : all.rows()) kernels.insert(row.kernel), gpus.insert(row.hardware);
  kernels.erase("");
  std::size_t read = 0;
  for (const std::string& kernel : kernels) {
    const ErrorBars own = ErrorBars::load(file, kernel);
    read += own.rows().size();
    for (const std::string& gpu : gpus)
      for (const char* quantity : {"seconds", "seconds_cold", "hbm_read_bytes"})
        for (const char* regime : {"short", "memory", "compute", "spills"}) {
          CAPTURE(kernel);
          CAPTURE(gpu);
          CAPTURE(quantity);
          CAPTURE(regime);
          const ErrorQuery query{gpu, kernel, quantity, regime, {{"q_len", 1e6}, {"head_dim", 16}}};
          const auto found = own.find(query), wanted = all.find(query);
          REQUIRE(found.has_value() == wanted.has_value());
          if (!found) continue;
          CHECK(found->p90 == wanted->p90);
          CHECK(found->mape == wanted->mape);
          CHECK(found->n == wanted->n);
          CHECK(found->basis == wanted->basis);
          CHECK(found->borrowed_from == wanted->borrowed_from);
        }
  }
  CHECK(read < kernels.size() * all.rows().size() / 4);
}

}  // namespace errors_test
