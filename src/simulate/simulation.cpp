#include "simulate/simulation.h"

#include <algorithm>

#include "simulate/step_path.h"

namespace tilescope {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

bool is_innermost(const CodeSummary& code, std::size_t loop) {
  return !code.loops[loop].waits && std::none_of(code.loops.begin(), code.loops.end(), [&](const CodeLoop& other) {
    return other.parent == loop && !other.waits;
  });
}

}  // namespace

int resident_blocks(const CubinKernel& kernel, std::int64_t threads, std::int64_t dynamic_smem,
                    const HardwareProfile& hardware) {
  constexpr std::int64_t warp_threads = 32, thread_registers = 8;  // registers are given in units of 8 a thread
  const std::int64_t warps = rounded_up(threads, warp_threads) / warp_threads;
  std::int64_t blocks = hardware.max_blocks_per_unit ? hardware.max_blocks_per_unit->value : 1;
  if (hardware.max_warps_per_unit) blocks = std::min(blocks, hardware.max_warps_per_unit->value / warps);
  if (hardware.registers_per_unit && kernel.registers > 0)
    blocks = std::min(blocks, hardware.registers_per_unit->value /
                                  (rounded_up(kernel.registers, thread_registers) * warp_threads * warps));
  if (const MemoryLevel* smem = hardware.level(LevelId::smem); smem && smem->capacity_bytes) {
    const double reserved = smem->reserved_per_block_bytes ? smem->reserved_per_block_bytes->value : 0;
    const double each = static_cast<double>(kernel.shared_bytes + dynamic_smem) + reserved;
    if (each > 0) blocks = std::min(blocks, static_cast<std::int64_t>(smem->capacity_bytes->value / each));
  }
  return static_cast<int>(std::max<std::int64_t>(1, blocks));
}

KernelSimulation simulate_kernel(const CubinKernel& kernel, const CodeSummary& code, const HardwareProfile& hardware,
                                 const SimulationChoices& choices) {
  constexpr std::int64_t warp_threads = 32;
  const std::int64_t threads = choices.threads > 0 ? choices.threads : kernel.most_threads;
  const SmMachine machine(hardware);
  KernelSimulation simulation{.hardware = hardware.id, .loops = {}, .refused = {}, .missing = {}};
  simulation.schedulers = machine.limits().schedulers;
  if (threads <= 0) {
    simulation.refused = "its code does not state the threads of a block: name them with --block";
    return simulation;
  }
  simulation.warps = static_cast<int>(rounded_up(threads, warp_threads) / warp_threads);
  simulation.resident =
      choices.resident > 0 ? choices.resident : resident_blocks(kernel, threads, choices.dynamic_smem, hardware);
  if (code.roles.size() > 1) {
    simulation.refused = "its warps have roles, which are not simulated yet";
    return simulation;
  }
  for (std::size_t loop = 0; loop < code.loops.size(); ++loop) {
    if (!is_innermost(code, loop)) continue;
    SimulatedLoop& simulated = simulation.loops.emplace_back();
    simulated.loop = loop, simulated.path = step_path(code, loop, choices.through);
    SmProgram program{.code = {}, .warps = simulation.warps};
    for (const std::size_t instruction : simulated.path)
      program.code.push_back(machine.operation(code.section.instructions[instruction], simulation.warps));
    simulated.steady = simulate_steady(program, machine.limits(), simulation.resident, choices.event_passes);
  }
  simulation.missing = machine.missing();
  return simulation;
}

}  // namespace tilescope
