#include "hardware/clock_exponent.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "hardware/measured_curves.h"
#include "hardware/profile.h"

namespace tilescope::clock_exponent_test {
namespace {

double exponent_of(const MeasuredCurves& measured) {
  std::map<std::string, double> values;
  for (const auto& value : measured.record.at("values"))
    values[value.at("path").get<std::string>()] = value.at("value").get<double>();
  std::vector<HeldLoad> loads;
  for (const auto& curve : measured.record.at("curves")) {
    const auto name = curve.at("name").get<std::string>();
    const std::string before = "operations/s ";
    if (!name.starts_with("load tensor fp16 on ") || name.find(before) == std::string::npos) continue;
    loads.push_back({.hz = curve.at("points")[0][0].get<double>(),
                     .watts = curve.at("points")[0][1].get<double>(),
                     .operations_per_second = std::stod(name.substr(name.find(before) + before.size()))});
  }
  return clock_exponent(loads, values.at("clock.tensor_most"), values.at("power.tensor.fp16"), values.at("power.busy"));
}

}  // namespace

TEST_CASE("the clock's exponent is that of loads which follow a power law") {
  std::vector<HeldLoad> loads;
  for (const double hz : {1.0e9, 1.3e9, 1.5e9, 2.0e9})
    loads.push_back({.hz = hz, .watts = 100 + 3e12 * 1e-12 * std::pow(hz / 2e9, 2.4), .operations_per_second = 3e12});
  CHECK(clock_exponent(loads, 2e9, 1e-12, 100) == doctest::Approx(2.4));
  CHECK(clock_exponent({}, 2e9, 1e-12, 100) == 0);
}

// Of an H100, run_1 and run_2 are of one board; the profile takes power.add alone from run_4, as its source says.
TEST_CASE("the records of hardware measure give the clock's exponent of the shipped profiles") {
  std::map<std::string, std::vector<double>> boards;
  double first_board = 0;
  for (const MeasuredCurves& measured : measured_curves()) {
    if (measured.gpu == "h100" && measured.file.ends_with("run_4.json")) continue;
    const double found = exponent_of(measured);
    if (measured.gpu == "h100" && !measured.file.ends_with("run_3.json")) first_board += found / 2;
    else boards[measured.gpu].push_back(found);
  }
  boards["h100"].push_back(first_board);
  for (auto& [gpu, found] : boards) {
    CAPTURE(gpu);
    std::sort(found.begin(), found.end());
    const std::size_t middle = found.size() / 2;
    const double median = found.size() % 2 == 1 ? found[middle] : (found[middle - 1] + found[middle]) / 2;
    const HardwareProfile profile = load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/" + gpu + "_sxm.yaml");
    CHECK(profile.measured->power.clock_exponent->value == doctest::Approx(median).epsilon(0.003));
  }
}

}  // namespace tilescope::clock_exponent_test
