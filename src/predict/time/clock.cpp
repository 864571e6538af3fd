#include "predict/time/clock.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace tilescope {
namespace {

struct Seen {
  double place, value;
};

// Root of a rising function in a bracket, by the Illinois variant of regula falsi: the best place found with a value of
// at most 0.
template <class Function>
double zero_between(Seen under, Seen over, const Function& value_at) {
  int side = 0;  // of the last place
  while (under.value < 0 && over.place - under.place > 1e-9 * over.place) {
    const double place = under.place - under.value * (over.place - under.place) / (over.value - under.value),
                 value = value_at(place);
    const int now = value <= 0 ? -1 : 1;
    Seen &moves = now < 0 ? under : over, &stays = now < 0 ? over : under;
    moves = {place, value};
    if (std::exchange(side, now) == now) stays.value /= 2;
  }
  return under.place;
}

// W of wgmma in all SMs in the first milliseconds after a pause; 0: not known.
double first_watts(const HardwareProfile& hardware) {
  const auto rate = hardware.tensor_flop_per_cycle.find(Format::fp16);
  if (!hardware.measured || !hardware.board_watts || rate == hardware.tensor_flop_per_cycle.end()) return 0;
  const auto& [clock, power] = std::tie(hardware.measured->clock, hardware.measured->power);
  const auto joules = power.tensor.find(Format::fp16);
  if (!clock.tensor_first || !clock.tensor_most || !power.busy || !power.clock_exponent || joules == power.tensor.end())
    return 0;
  const double hz = clock.tensor_first->value, slower = hz / clock.tensor_most->value,
               flop = static_cast<double>(hardware.units.value) * rate->second.value * hz;
  return power.busy->value + flop * joules->second.value * std::pow(slower, power.clock_exponent->value);
}

}  // namespace

ClockAndPower sustained_clock(const HardwareProfile& hardware, std::span<const LaunchTime> launches,
                              const EnergyByItem& energy, double gaps, double more_power) {
  double most = 0, all = 0;
  for (const LaunchTime& each : launches) most = std::max(most, each.highest_hz);
  for (const ItemEnergy& each : energy) all += each.joules;
  if (all <= 0 || most <= 0 || !hardware.board_watts || !hardware.measured->power.busy) return {.hz = most, .watts = 0};
  const auto& m = *hardware.measured;
  const double base = m.power.busy->value, limit = hardware.board_watts->value * more_power,
               exponent = m.power.clock_exponent ? m.power.clock_exponent->value : 0;
  // Energies at the highest clock, from the clocks that they were measured at; further down they fall together. Memory
  // has a clock of its own.
  const auto at_most = [&](double joules, const MeasuredRates::Value& measured_at) {
    return joules * std::pow(most / (measured_at ? measured_at->value : most), exponent);
  };
  const auto joules = [&](EnergyItem item) { return energy[static_cast<std::size_t>(item)].joules; };
  const double memory = joules(EnergyItem::hbm), tensor = joules(EnergyItem::tensor),
               on_chip = at_most(tensor, m.clock.tensor_most) + at_most(all - memory - tensor, m.clock.most);
  const auto watts = [&](double hz) {
    return base + (memory + on_chip * std::pow(hz / most, exponent)) / total_seconds(launches, hz, gaps);
  };
  const double watts_at_most = watts(most);
  if (watts_at_most <= limit) return {.hz = most, .watts = watts_at_most};
  const double least = most / 4;
  Seen under{most, watts_at_most - limit}, over = under;
  do {
    if (under.place == least) return {.hz = least, .watts = limit + under.value};  // the limit cannot be held
    over = under, under.place = std::max(least, under.place * 0.75);
    under.value = watts(under.place) - limit;
  } while (under.value > 0);
  const double hz = zero_between(under, over, [&](double clock) { return watts(clock) - limit; });
  return {.hz = hz, .watts = watts(hz)};
}

double first_clock(const HardwareProfile& hardware, std::span<const LaunchTime> launches, const EnergyByItem& energy) {
  const double watts = first_watts(hardware);
  if (watts <= 0) return sustained_clock(hardware, launches, {}, 0).hz;
  return sustained_clock(hardware, launches, energy, 0, std::max(1.0, watts / hardware.board_watts->value)).hz;
}

}  // namespace tilescope
