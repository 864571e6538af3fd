#include "predict/time/clock.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/test_seed.h"
#include "predict/sm/textbook.h"

using namespace tilescope;

namespace {

// Every step of the halving looks at the power.
ClockAndPower by_halving_alone(const HardwareProfile& hardware, const std::vector<LaunchTime>& launches,
                               const Energy& energy, double gaps) {
  double most = 0;
  for (const LaunchTime& each : launches) most = std::max(most, each.highest_hz);
  const auto& m = *hardware.measured;
  const double exponent = m.power.clock_exponent->value, limit = hardware.board_watts->value;
  const auto at_most = [&](double joules, double hz) { return joules * std::pow(most / hz, exponent); };
  const double on_chip =
      at_most(energy.tensor, m.clock.tensor_most->value) + at_most(energy.others, m.clock.most->value);
  const auto watts = [&](double hz) {
    double seconds = gaps;
    for (const LaunchTime& each : launches) seconds += each.seconds(hz);
    return m.power.busy->value + (energy.memory + on_chip * std::pow(hz / most, exponent)) / seconds;
  };
  if (watts(most) <= limit) return {.hz = most, .watts = watts(most)};
  double low = most / 4, high = most;
  if (watts(low) > limit) return {.hz = low, .watts = limit};
  for (int i = 0; i < 26; ++i) {
    const double middle = (low + high) / 2;
    (watts(middle) <= limit ? low : high) = middle;
  }
  return {.hz = low, .watts = watts(low)};
}

}  // namespace

TEST_CASE("the clock within the power limit is to the bit the one that halving alone finds") {
  HardwareProfile hardware = textbook();
  hardware.measured->clock.most = {2e9, "M"}, hardware.measured->clock.tensor_most = {1.8e9, "M"};
  std::mt19937 random(test_seed());
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<>(0, 1)(random));
  };
  int free = 0, held = 0, lowest = 0;
  for (int i = 0; i < 20000; ++i) {
    hardware.measured->power.clock_exponent = {between(0.5, 3), "M"};
    std::vector<LaunchTime> launches(1 + random() % 3);
    double seconds = 0;
    for (LaunchTime& each : launches) {
      each.clocks = each.busy_clocks = between(1e4, 1e7), each.highest_hz = between(1.7e9, 2e9);
      each.memory_seconds = each.clocks / between(5e8, 4e9);  // at some clock memory takes as long
      seconds += each.seconds(each.highest_hz);
    }
    const double joules = seconds * between(100, 6000);
    const double memory = std::uniform_real_distribution<>(0, 1)(random);
    const Energy energy{
        .memory = joules * memory, .tensor = joules * (1 - memory) / 2, .others = joules * (1 - memory) / 2};
    const double gaps = random() % 2 == 0 ? 0 : seconds / 10;
    const ClockAndPower found = sustained_clock(hardware, launches, energy, gaps),
                        wanted = by_halving_alone(hardware, launches, energy, gaps);
    CAPTURE(i);
    CHECK(found.hz == wanted.hz);
    CHECK(found.watts == wanted.watts);
    (wanted.hz > 1.69e9 ? free : wanted.hz < 0.51e9 ? lowest : held) += 1;
  }
  CHECK(free > 1000);
  CHECK(held > 1000);
  CHECK(lowest > 1000);
}
