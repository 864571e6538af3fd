#include "predict/time/clock.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/test_seed.h"
#include "predict/textbook.h"

namespace clock_test {

using namespace tilescope;

namespace {

// W at a clock, from scratch.
double watts_at(const HardwareProfile& hardware, const std::vector<LaunchTime>& launches, const EnergyByItem& energy,
                double gaps, double hz) {
  const auto& m = *hardware.measured;
  double seconds = gaps, joules = 0;
  for (const LaunchTime& each : launches) seconds += each.seconds(hz);
  for (std::size_t i = 0; i < energy.size(); ++i) {
    const auto item = static_cast<EnergyItem>(static_cast<int>(i));
    const double measured_at = item == EnergyItem::tensor ? m.clock.tensor_most->value : m.clock.most->value;
    joules +=
        energy[i].joules * (item == EnergyItem::hbm ? 1 : std::pow(hz / measured_at, m.power.clock_exponent->value));
  }
  return m.power.busy->value + joules / seconds;
}

}  // namespace

TEST_CASE("the clock is the highest within the power limit, to a billionth") {
  HardwareProfile hardware = textbook();
  hardware.measured->clock.most = {2e9, "M"}, hardware.measured->clock.tensor_most = {1.8e9, "M"};
  const double limit = hardware.board_watts->value;
  std::mt19937 random(test_seed());
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<>(0, 1)(random));
  };
  int free = 0, held = 0, lowest = 0;
  for (int i = 0; i < 20000; ++i) {
    hardware.measured->power.clock_exponent = {between(0.5, 3), "M"};
    std::vector<LaunchTime> launches(1 + random() % 3);
    double seconds = 0, most = 0;
    for (LaunchTime& each : launches) {
      each.clocks = each.busy_clocks = between(1e4, 1e7), each.highest_hz = between(1.7e9, 2e9);
      each.memory_seconds = each.clocks / between(5e8, 4e9);  // at some clock memory takes as long
      seconds += each.seconds(each.highest_hz), most = std::max(most, each.highest_hz);
    }
    EnergyByItem energy;
    for (const EnergyItem item : {EnergyItem::hbm, EnergyItem::tensor, EnergyItem::smem, EnergyItem::others})
      energy[static_cast<std::size_t>(item)].joules = seconds * between(10, 2000);
    const double gaps = random() % 2 == 0 ? 0 : seconds / 10;
    const ClockAndPower found = sustained_clock(hardware, launches, energy, gaps);
    const auto watts = [&](double hz) { return watts_at(hardware, launches, energy, gaps, hz); };
    CAPTURE(i);
    REQUIRE(found.hz <= most);
    REQUIRE(found.hz >= most / 4);
    CHECK(found.watts == doctest::Approx(watts(found.hz)).epsilon(1e-12));
    CHECK((found.watts <= limit || found.hz == most / 4));
    if (found.hz < most) CHECK(watts(found.hz * (1 + 2e-9)) > limit * (1 - 1e-12));
    (found.hz == most ? free : found.hz == most / 4 ? lowest : held) += 1;
  }
  CHECK(free > 1000);
  CHECK(held > 1000);
  CHECK(lowest > 1000);
}

TEST_CASE("after a pause chips take no more than products in all SMs do, which then run at the clock measured so") {
  HardwareProfile hardware = textbook();
  MeasuredRates& m = *hardware.measured;
  m.clock.most = {2e9, "M"}, m.clock.tensor_most = {1.8e9, "M"}, m.clock.tensor_first = {1.6e9, "M"};
  m.power.tensor[Format::fp16] = {1e-12, "M"}, m.power.clock_exponent = {2.0, "M"};
  const double of_clock =
      static_cast<double>(hardware.units.value) * hardware.tensor_flop_per_cycle.at(Format::fp16).value;
  std::mt19937 random(test_seed());
  for (int i = 0; i < 100; ++i) {
    std::vector<LaunchTime> launches(1);
    launches[0].clocks = std::uniform_real_distribution<>(1e4, 1e7)(random), launches[0].highest_hz = 1.8e9;
    EnergyByItem energy;
    double& joules = energy[static_cast<std::size_t>(EnergyItem::tensor)].joules;
    joules = launches[0].clocks * of_clock * 1e-12;
    CHECK(first_clock(hardware, launches, energy) == doctest::Approx(1.6e9));
    joules /= 2;  // far fewer products
    CHECK(first_clock(hardware, launches, energy) == doctest::Approx(1.8e9));
    m.clock.tensor_first.reset(), joules *= 20;
    CHECK(first_clock(hardware, launches, energy) == doctest::Approx(1.8e9));  // not known
    m.clock.tensor_first = {1.6e9, "M"};
  }
}

}  // namespace clock_test
