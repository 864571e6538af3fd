#include "predict/time/clock.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace tilescope {
namespace {

// Energy a FLOP was measured with m64n256, A and B from shared memory, whose bytes count apart: 64 and 256 rows of k
// elements, half the bytes a FLOP where these take one byte.
double operand_bytes_per_flop(Format format) { return (64.0 + 256.0) * bits(format) / 8 / (2.0 * 64 * 256); }

// J of the products themselves, at the clock of wgmma.
double tensor_joules(const MeasuredRates& measured, const IslandImplementation& how, const LaunchCounts& counts) {
  const auto& power = measured.power;
  const bool from_registers = how.path().from_registers && !power.mma.empty();
  const auto& by_format = from_registers ? power.mma : power.tensor;
  double joules = 0;
  for_each_format(counts.work, [&](Format format, double flop) {
    const auto own = by_format.find(format), found = own == by_format.end() ? by_format.begin() : own;
    const double operands = from_registers ? 0 : operand_bytes_per_flop(found->first) * power.smem->value;
    joules += flop * std::max(0.0, found->second.value - operands);
  });
  // Those of mma.sync were measured at its own clock.
  const auto& clock = measured.clock;
  if (from_registers && clock.mma_most && clock.tensor_most && power.clock_exponent)
    joules *= std::pow(clock.tensor_most->value / clock.mma_most->value, power.clock_exponent->value);
  return joules;
}

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

void add_energy(const HardwareProfile& hardware, const IslandImplementation& how, const LaunchCounts& counts,
                double added_bytes, double from_memory, EnergyByItem& energy) {
  if (!hardware.measured) return;
  const auto& power = hardware.measured->power;
  if (power.tensor.empty() || !power.hbm || !power.l2 || !power.smem || !power.ffma || !power.ex2 || !power.issue)
    return;
  const auto add = [&](EnergyItem item, double amount, double joules) {
    ItemEnergy& of = energy[static_cast<std::size_t>(item)];
    of.amount += amount, of.joules += joules;
  };
  const auto take = [&](EnergyItem item, double amount, double each) { add(item, amount, amount * each); };
  const auto on = [&](std::initializer_list<Pipe> pipes) { return operations(counts.work.pipes, pipes); };
  add(EnergyItem::tensor, static_cast<double>(counts.work.tensor_flop), tensor_joules(*hardware.measured, how, counts));
  // A byte from memory, or an addition, was measured with its way through the L2, which the L2's bytes count already.
  const auto beyond_l2 = [&](double joules) { return std::max(0.0, joules - power.l2->value); };
  take(EnergyItem::hbm, from_memory * moved(counts, Boundary::hbm), beyond_l2(power.hbm->value));
  take(EnergyItem::l2, moved(counts, Boundary::l2), power.l2->value);
  if (power.add) take(EnergyItem::additions, added_bytes, beyond_l2(power.add->value));
  take(EnergyItem::smem, moved(counts, Boundary::smem), power.smem->value);
  take(EnergyItem::multiply_adds, on({Pipe::ffma, Pipe::fadd, Pipe::fmul}), power.ffma->value);
  take(EnergyItem::exponentials, on({Pipe::xu}), power.ex2->value);
  take(EnergyItem::others, on({Pipe::alu, Pipe::conversion, Pipe::shuffle}), power.issue->value);
}

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
