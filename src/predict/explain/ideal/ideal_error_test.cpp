// Which records a prediction of an ideal kernel states, and how much wider borrowed ranges are.
#include "predict/explain/ideal/ideal_error.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"

namespace tilescope::ideal_error_test {
namespace {

const char* const summary = R"({"schema": "tilescope/ideal-errors/1", "chips": {"one": "GH100"}, "rows": [
 {"hardware": "one", "schedule": "flash2", "pass": "forward", "phase": "decode", "mask": "none", "n": 9, "kernels": 2,
  "least": 0.5, "low": 0.8, "median": 1, "high": 1.5, "most": 2, "mape": 0.3, "p90": 0.6},
 {"hardware": "one", "schedule": "flash2", "pass": "forward", "phase": "prefill", "mask": "none", "n": 8, "kernels": 2,
  "least": 0.9, "low": 0.8, "median": 1, "high": 1.5, "most": 1.1, "mape": 0.1, "p90": 0.2},
 {"hardware": "one", "schedule": "flash2", "pass": "forward", "phase": null, "mask": null, "n": 17, "kernels": 3,
  "least": 0.5, "low": 0.8, "median": 1, "high": 1.5, "most": 2, "mape": 0.2, "p90": 0.5},
 {"hardware": null, "schedule": "flash2", "pass": "forward", "phase": "decode", "mask": "none", "n": 9, "kernels": 2,
  "least": 0.5, "low": 0.8, "median": 1, "high": 1.5, "most": 2, "mape": 0.3, "p90": 0.6},
 {"hardware": null, "schedule": null, "pass": "forward", "phase": null, "mask": null, "n": 20, "kernels": 4,
  "least": 0.4, "low": 0.8, "median": 1, "high": 1.5, "most": 3, "mape": 0.4, "p90": 0.7}],
 "widening": [{"cause": "regime", "factor": 1.5, "n": 9}, {"cause": "gpu", "factor": 1.1, "n": 9},
  {"cause": "chip", "factor": 2, "n": 9}, {"cause": "schedule", "factor": 3, "n": 9}]})";

IdealErrors errors_of(const std::string& text) {
  const TemporaryDirectory folder("ideal-errors");
  const std::filesystem::path file = folder.path() / "ideal_errors.json";
  std::ofstream(file) << text;
  return IdealErrors::load(file);
}

IdealQuery query(std::string hardware, std::string chip, std::string schedule, std::string phase) {
  return {.hardware = std::move(hardware),
          .chip = std::move(chip),
          .schedule = std::move(schedule),
          .pass = "forward",
          .phase = std::move(phase),
          .mask = "none"};
}

}  // namespace

TEST_CASE(
    "an ideal kernel's range is that of its GPU, schedule and regime; borrowed ones are wider by what they cross") {
  const IdealErrors errors = errors_of(summary);
  const auto own = errors.find(query("one", "GH100", "flash2", "decode"));
  REQUIRE(own);
  CHECK(own->widened == 1);
  CHECK(own->borrowed_from.empty());
  CHECK(own->range->least == 0.5);
  CHECK(own->range->most == 2);
  CHECK(own->basis == "9 points of flash2 forward decode, mask none on one, the fastest of 2 recorded kernels at each");
  const auto few = errors.find(query("one", "GH100", "flash2", "prefill"));  // 8 points are too few
  CHECK(few->n == 17);
  CHECK(few->widened == 1.5);
  CHECK(few->mape == doctest::Approx(0.3));
  const auto same_chip = errors.find(query("two", "GH100", "flash2", "decode"));
  CHECK(same_chip->widened == 1.1);
  CHECK(same_chip->borrowed_from == "flash2 forward decode, mask none on all recorded GPUs");
  const auto other_chip = errors.find(query("three", "GB100", "flash2", "decode"));
  CHECK(other_chip->widened == 2);
  CHECK(other_chip->range->least == doctest::Approx(0.25));
  CHECK(other_chip->range->low == doctest::Approx(0.4));
  CHECK(other_chip->range->median == 1);
  CHECK(other_chip->range->high == doctest::Approx(3));
  CHECK(other_chip->range->most == doctest::Approx(4));
  CHECK(errors.find(query("three", "GB100", "standard", "prefill"))->widened == 6);
  IdealQuery backward = query("one", "GH100", "flash2", "decode");
  backward.pass = "backward";
  CHECK_FALSE(errors.find(backward));
}

TEST_CASE("a file that is no summary of ideal kernels is refused, a missing one says nothing") {
  CHECK_THROWS_AS(errors_of("{}"), InputError);
  CHECK_THROWS_AS(errors_of(R"({"schema": "tilescope/errors/1"})"), InputError);
  std::string negative = summary;
  negative.replace(negative.find("\"least\": 0.5"), 12, "\"least\": -.5");
  CHECK_THROWS_AS(errors_of(negative), InputError);
  CHECK_FALSE(IdealErrors::load("/no/such/file.json").find(query("one", "GH100", "flash2", "decode")));
}

}  // namespace tilescope::ideal_error_test
