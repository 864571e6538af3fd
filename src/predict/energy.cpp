#include "predict/energy.h"

#include <algorithm>
#include <cmath>

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

}  // namespace tilescope
