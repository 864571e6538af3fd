// Power and the clock it leaves: energies of microbenchmarks, added up.
#include <algorithm>

#include "predict/time_parts.h"

namespace tilescope {
namespace {

double moved(const IslandPrediction& island, Boundary boundary) {
  const auto& both = island.traffic[static_cast<std::size_t>(boundary)];
  return static_cast<double>(both[0]) + static_cast<double>(both[1]);
}

double total(std::span<const IslandTime> islands, double hz, double launch) {
  double seconds = launch;
  for (const IslandTime& island : islands) seconds += island.seconds(hz);
  return seconds;
}

// Energy a FLOP was measured with m64n256k16, A and B from shared memory, whose bytes count apart.
constexpr double operand_bytes_per_flop = (64.0 + 256.0) * 16 * 2 / (2.0 * 64 * 256 * 16);

}  // namespace

double highest_clock(const HardwareProfile& hardware, const IslandImplementation& how) {
  const auto clock = how.uses_tensor_cores() && hardware.tensor_hz ? hardware.tensor_hz : hardware.boost_hz;
  return clock ? clock->value : 0;
}

double island_joules(const HardwareProfile& hardware, const IslandPrediction& island) {
  if (!hardware.measured) return 0;
  const auto& power = hardware.measured->power;
  if (power.tensor.empty() || !power.hbm || !power.l2 || !power.smem || !power.ffma || !power.ex2 || !power.issue)
    return 0;
  double joules = 0;
  for (std::size_t i = 0; i < format_count; ++i) {
    if (island.work.tensor_flop_in[i] == 0) continue;
    const auto own = power.tensor.find(static_cast<Format>(static_cast<int>(i)));
    const double with_operands = (own == power.tensor.end() ? power.tensor.begin() : own)->second.value;
    joules += static_cast<double>(island.work.tensor_flop_in[i]) *
              std::max(0.0, with_operands - operand_bytes_per_flop * power.smem->value);
  }
  // A byte from memory was measured with its way through L2 into the unit, which the L2's bytes count already.
  joules += moved(island, Boundary::hbm) * std::max(0.0, power.hbm->value - power.l2->value) +
            moved(island, Boundary::l2) * power.l2->value;
  joules += moved(island, Boundary::smem) * power.smem->value;
  const auto operations = [&](std::initializer_list<Pipe> pipes) {
    double sum = 0;
    for (const Pipe pipe : pipes) sum += static_cast<double>(island.work.pipes[static_cast<std::size_t>(pipe)]);
    return sum;
  };
  return joules + operations({Pipe::ffma, Pipe::fadd, Pipe::fmul}) * power.ffma->value +
         operations({Pipe::xu}) * power.ex2->value +
         operations({Pipe::alu, Pipe::conversion, Pipe::shuffle}) * power.issue->value;
}

ClockAndPower sustained_clock(const HardwareProfile& hardware, std::span<const IslandTime> islands, double joules,
                              double launch, double more_power) {
  double most = 0;
  for (const IslandTime& island : islands) most = std::max(most, island.most_hz);
  if (joules <= 0 || most <= 0 || !hardware.board_watts || !hardware.measured->power.busy) return {most, 0};
  const double base = hardware.measured->power.busy->value, limit = hardware.board_watts->value * more_power;
  const auto watts = [&](double hz) { return base + joules / total(islands, hz, launch); };
  if (watts(most) <= limit) return {most, watts(most)};
  // Nothing measured pulled the clock lower than full-rate products on all units.
  const auto& heaviest = hardware.measured->clock.tensor_load;
  double low = heaviest ? std::min(most, heaviest->value) : most / 4, high = most;
  if (watts(low) > limit) return {low, limit};
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (watts(middle) <= limit ? low : high) = middle;
  }
  return {low, watts(low)};
}

}  // namespace tilescope
