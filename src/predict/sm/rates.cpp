#include "predict/sm/rates.h"

namespace tilescope {
namespace {

const MeasuredRates no_rates{};

}  // namespace

SmRates::SmRates(const HardwareProfile& hardware)
    : m_(hardware.measured ? *hardware.measured : no_rates), hz_(hardware.boost_hz ? hardware.boost_hz->value : 0) {
  const MemoryLevel* shared = hardware.level(LevelId::smem);
  if (shared && shared->bandwidth_bytes_per_cycle) smem = shared->bandwidth_bytes_per_cycle->value;
  if (hz_ > 0) reductions = of(m_.atomics.red_fp32) / hz_ / static_cast<double>(hardware.units.value);
}

double SmRates::of_fp16(const MeasuredRates::ByFormat& values) {
  const auto found = values.find(Format::fp16);
  return found == values.end() ? 0 : found->second.value;
}

double SmRates::block_barrier(std::int64_t warps) const {
  double clocks = 0;
  for (const auto& [count, value] : m_.sync.block_barrier)
    if (clocks == 0 || count <= warps) clocks = value.value;
  return clocks;
}

bool missing_sm_rate(const HardwareProfile& hardware) {
  const MemoryLevel* smem = hardware.level(LevelId::smem);
  if (!hardware.measured || !hardware.boost_hz || !smem || !smem->bandwidth_bytes_per_cycle) return true;
  const auto& pipes = hardware.measured->pipes;
  return !pipes.ex2 || !pipes.ffma || !pipes.max || !pipes.cvt_f16x2 || !pipes.shuffle;
}

bool halved_depth(const IslandImplementation& how) { return how.path().from_registers && how.mma.k == 8; }

double tensor_flop_per_clock(const HardwareProfile& hardware, const IslandImplementation& how, Format format) {
  constexpr double unknown = -1, flop_k8 = 2.0 * 16 * 8 * 8, schedulers = 4;
  if (halved_depth(how) && bits(format) == 16 && hardware.measured && hardware.measured->tensor.mma_k8)
    return schedulers * flop_k8 / hardware.measured->tensor.mma_k8->value;
  const auto full = hardware.tensor_flop_per_cycle.find(format);
  if (full == hardware.tensor_flop_per_cycle.end()) return unknown;
  const auto path = hardware.instruction_flop_per_cycle.find(to_string(how.tensor_path));
  if (path == hardware.instruction_flop_per_cycle.end()) return full->second.value;
  const auto limit = path->second.find(format);
  return limit == path->second.end() ? full->second.value : limit->second.value;
}

std::optional<Sourced<double>> tensor_clock(const HardwareProfile& hardware) {
  if (hardware.measured && hardware.measured->clock.tensor_most) return hardware.measured->clock.tensor_most;
  return hardware.tensor_hz;
}

double highest_clock(const HardwareProfile& hardware, const IslandImplementation& how) {
  if (how.path().from_registers && hardware.measured && hardware.measured->clock.mma_most)
    return hardware.measured->clock.mma_most->value;
  if (how.uses_tensor_cores())
    if (const auto clock = tensor_clock(hardware)) return clock->value;
  return hardware.boost_hz ? hardware.boost_hz->value : 0;
}

}  // namespace tilescope
