#include "predict/sm/rates.h"

namespace tilescope {
namespace {

double or_zero(const MeasuredRates::Value& value) { return value ? value->value : 0; }
double or_zero(const std::optional<Sourced<double>>& value, double scale) { return value ? value->value * scale : 0; }

// Clocks beyond its own that the wait for a product takes: the same for all widths, so the first one measured will do.
double wait_of(const MeasuredRates& measured) {
  const auto intervals = measured.tensor.wgmma_smem.find(Format::fp16);
  if (intervals == measured.tensor.wgmma_smem.end()) return 0;
  for (const auto& [columns, latency] : measured.tensor.wgmma_latency)
    if (const auto own = intervals->second.find(columns); own != intervals->second.end())
      return latency.value - own->second.value;
  return 0;
}

// Clocks of a load that hits: half of the lines are in the other partition.
double l2_latency(const MeasuredRates& m) { return (or_zero(m.l2.latency_near) + or_zero(m.l2.latency_far)) / 2; }

}  // namespace

double SmRates::block_barrier(std::int64_t warps) const {
  double clocks = 0;
  for (const auto& [count, value] : measured->sync.block_barrier)
    if (clocks == 0 || count <= warps) clocks = value.value;
  return clocks;
}

const char* missing_sm_rate(const HardwareProfile& hardware) {
  if (!hardware.measured) return "measured";
  const auto& pipes = hardware.measured->pipes;
  if (!pipes.ex2) return "measured.pipes.ex2";
  if (!pipes.ffma) return "measured.pipes.ffma";
  if (!pipes.max) return "measured.pipes.max";
  if (!pipes.cvt_f16x2) return "measured.pipes.cvt_f16x2";
  if (!pipes.shuffle) return "measured.pipes.shuffle";
  const MemoryLevel* smem = hardware.level(LevelId::smem);
  if (!smem || !smem->bandwidth_bytes_per_cycle) return "levels.smem.bandwidth_per_cycle";
  return hardware.boost_hz ? nullptr : "compute.boost_clock";
}

SmRates sm_rates(const HardwareProfile& hardware) {
  const MeasuredRates& m = *hardware.measured;
  const double hz = hardware.boost_hz->value;
  const auto mma_chain = m.tensor.mma_latency.find(Format::fp16), mma = m.tensor.mma.find(Format::fp16);
  return {.xu = m.pipes.ex2->value,
          .fma = m.pipes.ffma->value,
          .alu = m.pipes.max->value,
          .conversion = m.pipes.cvt_f16x2->value,
          .shuffle = m.pipes.shuffle->value,
          .smem = hardware.level(LevelId::smem)->bandwidth_bytes_per_cycle->value,
          .l2 = or_zero(m.l2.read_one_unit),
          .ex2_chain = or_zero(m.chains.ex2),
          .fma_chain = or_zero(m.chains.ffma),
          .max_chain = or_zero(m.chains.max),
          .shuffle_chain = or_zero(m.chains.shuffle),
          .mma_interval = mma == m.tensor.mma.end() ? 0 : mma->second.value,
          .mma_chain = mma_chain == m.tensor.mma_latency.end() ? 0 : mma_chain->second.value,
          .mma_k8_chain = or_zero(m.tensor.mma_k8_latency),
          .wgmma_wait = wait_of(m),
          .smem_chain = or_zero(m.smem.latency),
          .mbarrier = or_zero(m.sync.mbarrier),
          .mbarrier_passed = or_zero(m.sync.mbarrier_passed),
          .turn = or_zero(m.sync.named_barrier),
          .l2_latency = l2_latency(m),
          .hbm = or_zero(m.hbm.latency, hz),
          .copy_hbm = or_zero(m.tma.latency_hbm ? m.tma.latency_hbm : m.hbm.latency, hz),
          .copy_l2 = or_zero(m.tma.latency_l2, hz),
          .cp_async = or_zero(m.smem.cp_async),
          .hbm_unit = or_zero(m.hbm.read_one_unit),
          .local_store = or_zero(m.local.store),
          .reductions = or_zero(m.atomics.red_fp32) / hz / static_cast<double>(hardware.units.value),
          .local_latency = or_zero(m.local.latency),
          .local_latency_l1 = or_zero(m.local.latency_l1),
          .l2_near = m.l2.latency_near ? or_zero(m.l2.latency_near) : l2_latency(m),
          .l2_far = m.l2.latency_far ? or_zero(m.l2.latency_far) : l2_latency(m),
          .l2_few_lines = or_zero(m.l2.read_few_lines),
          .block_start = or_zero(m.launch.block, hz),
          .block_beside = or_zero(m.launch.block_beside, hz),
          .mma = {.xu = or_zero(m.beside.mma_ex2), .fma = or_zero(m.beside.mma_ffma), .alu = or_zero(m.beside.mma_max)},
          .wgmma = {.xu = or_zero(m.beside.wgmma_ex2),
                    .fma = or_zero(m.beside.wgmma_ffma),
                    .alu = or_zero(m.beside.wgmma_max)},
          .wgmma_held = or_zero(m.beside.wgmma_held),
          .oldest_first = or_zero(m.beside.oldest_first),
          .measured = &m};
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
