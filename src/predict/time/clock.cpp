#include "predict/time/clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilescope {
namespace {

double total(std::span<const LaunchTime> launches, double hz, double gaps) {
  double seconds = gaps;
  for (const LaunchTime& each : launches) seconds += each.seconds(hz);
  return seconds;
}

// Energy a FLOP was measured with m64n256, A and B from shared memory, whose bytes count apart: 64 and 256 rows of k
// elements, half the bytes a FLOP where these take one byte.
double operand_bytes_per_flop(Format format) { return (64.0 + 256.0) * bits(format) / 8 / (2.0 * 64 * 256); }

struct Seen {
  double place, value;
};

// Where a rising function passes 0 between two places, found in 26 steps that halve the range: the last place that is
// not above 0. Its value was seen at two places around it. Chords (the Illinois method) show closely where it is, so
// that most of the steps need no value.
template <class Function>
double halved_to(double low, double high, Seen under, Seen over, const Function& value_at) {
  const double close = high * 2e-8;                  // the last steps are as long
  double within = under.place, beyond = over.place;  // the nearest places that were seen
  double below = under.value, above = over.value;    // for the next chord
  int side = 0;                                      // of the last guess
  const auto see = [&](double place) {
    const double value = value_at(place);
    (value <= 0 ? within : beyond) = place;
    return value;
  };
  double guess = beyond, before = within;
  for (int i = 0; i < 12 && std::abs(guess - before) > close; ++i) {
    const double next = within - below * (beyond - within) / (above - below);
    if (!(next > within && next < beyond)) break;
    before = std::exchange(guess, next);
    const double value = see(next);
    const int now = value <= 0 ? -1 : 1;
    if (now < 0) below = value, above = side == now ? above / 2 : above;
    else above = value, below = side == now ? below / 2 : below;
    side = now;
  }
  for (const double near : {guess - close, guess + close})
    if (near > within && near < beyond) see(near);
  for (int i = 0; i < 26; ++i) {
    const double middle = (low + high) / 2;
    if (middle > within && middle < beyond) see(middle);
    (middle <= within ? low : high) = middle;
  }
  return low;
}

}  // namespace

Energy launch_energy(const HardwareProfile& hardware, const IslandImplementation& how, const LaunchCounts& counts,
                     double added_bytes) {
  Energy energy;
  if (!hardware.measured) return energy;
  const auto& power = hardware.measured->power;
  if (power.tensor.empty() || !power.hbm || !power.l2 || !power.smem || !power.ffma || !power.ex2 || !power.issue)
    return energy;
  const bool from_registers = how.path().from_registers && !power.mma.empty();
  const auto& by_format = from_registers ? power.mma : power.tensor;
  for (std::size_t i = 0; i < format_count; ++i) {
    if (counts.work.tensor_flop_in[i] == 0) continue;
    const auto own = by_format.find(static_cast<Format>(static_cast<int>(i)));
    const auto measured = own == by_format.end() ? by_format.begin() : own;
    const double a_flop = measured->second.value,
                 operands = from_registers ? 0 : operand_bytes_per_flop(measured->first) * power.smem->value;
    energy.tensor += static_cast<double>(counts.work.tensor_flop_in[i]) * std::max(0.0, a_flop - operands);
  }
  // Of mma.sync at its own clock; beside the energies of wgmma it stands at theirs.
  const auto& clock = hardware.measured->clock;
  if (from_registers && clock.mma_most && clock.tensor_most && power.clock_exponent)
    energy.tensor *= std::pow(clock.tensor_most->value / clock.mma_most->value, power.clock_exponent->value);
  // A byte from memory was measured with its way through L2 into the unit, which the L2's bytes count already.
  const auto operations = [&](std::initializer_list<Pipe> pipes) {
    double sum = 0;
    for (const Pipe pipe : pipes) sum += static_cast<double>(counts.work.pipes[static_cast<std::size_t>(pipe)]);
    return sum;
  };
  const auto take = [&](EnergyItem item, double amount, double each) {
    energy.items[static_cast<std::size_t>(item)] = {amount, amount * each};
    return amount * each;
  };
  energy.memory =
      take(EnergyItem::hbm, moved(counts, Boundary::hbm), std::max(0.0, power.hbm->value - power.l2->value));
  energy.items[static_cast<std::size_t>(EnergyItem::tensor)] = {static_cast<double>(counts.work.tensor_flop),
                                                                energy.tensor};
  energy.others = take(EnergyItem::l2, moved(counts, Boundary::l2), power.l2->value);
  // What an addition takes more than moving its bytes, which the L2's count already.
  if (power.add)
    energy.others += take(EnergyItem::additions, added_bytes, std::max(0.0, power.add->value - power.l2->value));
  energy.others += take(EnergyItem::smem, moved(counts, Boundary::smem), power.smem->value);
  energy.others += take(EnergyItem::multiply_adds, operations({Pipe::ffma, Pipe::fadd, Pipe::fmul}), power.ffma->value);
  energy.others += take(EnergyItem::exponentials, operations({Pipe::xu}), power.ex2->value);
  energy.others +=
      take(EnergyItem::others, operations({Pipe::alu, Pipe::conversion, Pipe::shuffle}), power.issue->value);
  return energy;
}

void add_energy(const Energy& own, Energy& sum) {
  sum.memory += own.memory, sum.tensor += own.tensor, sum.others += own.others;
  for (std::size_t i = 0; i < own.items.size(); ++i)
    sum.items[i].amount += own.items[i].amount, sum.items[i].joules += own.items[i].joules;
}

ClockAndPower sustained_clock(const HardwareProfile& hardware, std::span<const LaunchTime> launches,
                              const Energy& energy, double gaps, double more_power) {
  double most = 0;
  for (const LaunchTime& each : launches) most = std::max(most, each.highest_hz);
  if (energy.joules() <= 0 || most <= 0 || !hardware.board_watts || !hardware.measured->power.busy)
    return {.hz = most, .watts = 0};
  const auto& m = *hardware.measured;
  const double base = m.power.busy->value, limit = hardware.board_watts->value * more_power,
               exponent = m.power.clock_exponent ? m.power.clock_exponent->value : 0;
  // Energies at the highest clock, from the clocks that they were measured at; further down they fall together.
  const auto at_most = [&](double joules, const MeasuredRates::Value& measured_at) {
    return joules * std::pow(most / (measured_at ? measured_at->value : most), exponent);
  };
  const double on_chip = at_most(energy.tensor, m.clock.tensor_most) + at_most(energy.others, m.clock.most);
  const auto watts = [&](double hz) {
    return base + (energy.memory + on_chip * std::pow(hz / most, exponent)) / total(launches, hz, gaps);
  };
  const double watts_at_most = watts(most);
  if (watts_at_most <= limit) return {.hz = most, .watts = watts_at_most};
  const double least = most / 4;
  Seen under{most, watts_at_most - limit}, over = under;
  do {
    if (under.place == least) return {.hz = least, .watts = limit};
    over = under, under.place = std::max(least, under.place * 0.75);
    under.value = watts(under.place) - limit;
  } while (under.value > 0);
  const double hz = halved_to(least, most, under, over, [&](double clock) { return watts(clock) - limit; });
  return {.hz = hz, .watts = watts(hz)};
}

}  // namespace tilescope
