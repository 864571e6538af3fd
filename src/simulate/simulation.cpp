#include "simulate/simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/sm/residency.h"
#include "kernel/code/summary/step_path.h"
#include "loopbounds/loop_bounds.h"

namespace tilescope {
namespace {

constexpr std::int64_t warp_threads = 32;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// A loop with matrix products of its own; a pass skips inner loops.
bool multiplies(const CodeSummary& code, std::size_t loop) {
  const auto has = [](const CodeLoop& each) { return each.always.of(InstructionKind::matrix) > 0; };
  return has(code.loops[loop]) && std::none_of(code.loops.begin(), code.loops.end(), [&](const CodeLoop& other) {
           return other.parent == loop && has(other);
         });
}

// Warps of a block that run the loop.
int warps_of(const CodeSummary& code, std::size_t loop, int all) {
  int warps = 0;
  for (const std::size_t role : code.loops[loop].roles)
    for (const auto& [first, last] : code.roles[role].warps) warps += std::min(last + 1, all) - std::min(first, all);
  return std::max(1, warps);
}

std::vector<Instruction> instructions_on(const CodeSummary& code, const std::vector<std::size_t>& way) {
  std::vector<Instruction> list;
  for (const std::size_t i : way) list.push_back(code.section.instructions[i]);
  return list;
}

// Copies of a block that an SM holds.
Residency residency_of(const CubinKernel& kernel, std::int64_t threads, std::int64_t dynamic_smem,
                       const HardwareProfile& hardware) {
  const std::int64_t lanes = rounded_up(threads, warp_threads);
  Residency residency(hardware, Copied::blocks, lanes);
  residency.limit_registers(lanes * allocated_registers(hardware, kernel.registers));
  if (const MemoryLevel* smem = hardware.level(LevelId::smem); smem && smem->capacity_bytes)
    residency.limit(fit_level(*smem, Copied::blocks, 0, kernel.shared_bytes + dynamic_smem));
  return residency;
}

// Clocks of blocks with start and end, and of a launch of them.
void add_blocks(const CodeSummary& code, const SmMachine& machine, const SmProgram& program,
                const SimulationChoices& choices, const HardwareProfile& hardware, int resident,
                SimulatedLoop& simulated) {
  SmEnds ends;
  simulated.start = start_path(code, simulated.loop), simulated.end = end_path(code, simulated.loop);
  ends.start = machine.operations(instructions_on(code, simulated.start), program.warps);
  ends.end = machine.operations(instructions_on(code, simulated.end), program.warps);
  const auto round = [&](int blocks) {
    return simulate_blocks(program, ends, machine.limits(), blocks, choices.passes);
  };
  simulated.block_clocks = round(resident);
  if (choices.blocks == 0) return;
  const auto& measured = *hardware.measured;
  const double gap = measured.launch.block && measured.clock.tensor_most
                         ? measured.launch.block->value * measured.clock.tensor_most->value
                         : 0;
  simulated.launch_clocks = launch_clocks(choices.blocks, hardware.units.value, resident, gap, round) /
                            static_cast<double>(hardware.units.value);
}

}  // namespace

double launch_clocks(std::int64_t blocks, std::int64_t units, int resident, double gap,
                     const std::function<double(int)>& round) {
  const auto of_unit = [&](std::int64_t mine) {
    const std::int64_t full = mine / resident;
    const int rest = static_cast<int>(mine % resident);
    const std::int64_t rounds = full + (rest > 0);
    if (rounds == 0) return 0.0;
    return static_cast<double>(full) * (full > 0 ? round(resident) : 0) + (rest > 0 ? round(rest) : 0) +
           gap * static_cast<double>(rounds - 1);
  };
  const std::int64_t less = blocks / units, units_with_more = blocks % units;
  return static_cast<double>(units_with_more) * of_unit(less + 1) +
         static_cast<double>(units - units_with_more) * of_unit(less);
}

int resident_blocks(const CubinKernel& kernel, std::int64_t threads, std::int64_t dynamic_smem,
                    const HardwareProfile& hardware) {
  return static_cast<int>(residency_of(kernel, threads, dynamic_smem, hardware).copies());
}

std::optional<ImpossibleChoice> impossible_choice(const CubinKernel& kernel, const HardwareProfile& hardware,
                                                  const SimulationChoices& choices) {
  const std::int64_t threads = choices.threads > 0 ? choices.threads : kernel.most_threads;
  if (threads <= 0) return std::nullopt;  // nothing is simulated
  if (kernel.most_threads > 0 && threads > kernel.most_threads)
    return ImpossibleChoice{"block",
                            fmt::format("has {} threads, its launch bound is {}", threads, kernel.most_threads)};
  if (hardware.max_threads_per_block && threads > hardware.max_threads_per_block->value)
    return ImpossibleChoice{"block", fmt::format("has {} threads, a block on {} has at most {}", threads, hardware.id,
                                                 hardware.max_threads_per_block->value)};
  const MemoryLevel* const smem = hardware.level(LevelId::smem);
  const std::int64_t shared = kernel.shared_bytes + choices.dynamic_smem;
  if (smem && smem->capacity_per_block_bytes && static_cast<double>(shared) > smem->capacity_per_block_bytes->value)
    return ImpossibleChoice{
        "dynamic-shared-bytes",
        fmt::format("and {} static bytes are {}, a block on {} has at most {:.0f} bytes of shared memory",
                    kernel.shared_bytes, shared, hardware.id, smem->capacity_per_block_bytes->value)};
  const Residency residency = residency_of(kernel, threads, choices.dynamic_smem, hardware);
  const std::int64_t registers = rounded_up(threads, warp_threads) * allocated_registers(hardware, kernel.registers);
  if (hardware.registers_per_unit && registers > hardware.registers_per_unit->value)
    return ImpossibleChoice{"block",
                            fmt::format("has {} threads with {} registers each, {} in all; an SM of {} has {}", threads,
                                        kernel.registers, registers, hardware.id, hardware.registers_per_unit->value)};
  if (residency.copies() < 1)
    return ImpossibleChoice{"block", fmt::format("with {} threads and {} bytes of shared memory fits on no SM of {}",
                                                 threads, shared, hardware.id)};
  if (choices.resident <= residency.copies()) return std::nullopt;
  const auto by = residency.limited_by();
  return ImpossibleChoice{"resident", fmt::format("is {}, an SM of {} holds at most {} blocks of {} threads by its {}",
                                                  choices.resident, hardware.id, residency.copies(), threads,
                                                  !by                    ? "warps and blocks"
                                                  : *by == LevelId::smem ? "shared memory"
                                                                         : "registers")};
}

bool passes_through(const CodeSummary& code, const KernelSimulation& simulation, std::uint64_t address) {
  return std::any_of(simulation.loops.begin(), simulation.loops.end(), [&](const SimulatedLoop& loop) {
    return std::any_of(loop.path.begin(), loop.path.end(),
                       [&](std::size_t i) { return code.section.instructions[i].address == address; });
  });
}

KernelSimulation simulate_kernel(const CubinKernel& kernel, const CodeSummary& code, const HardwareProfile& hardware,
                                 const SimulationChoices& choices) {
  const std::int64_t threads = choices.threads > 0 ? choices.threads : kernel.most_threads;
  const SmMachine machine(hardware, choices.copies_from);
  KernelSimulation simulation{.hardware = hardware.id, .loops = {}, .refused = {}, .missing = {}};
  simulation.schedulers = machine.limits().schedulers;
  if (threads <= 0) {
    simulation.refused = "its code does not state the threads of a block: name them with --block";
    return simulation;
  }
  simulation.warps = static_cast<int>(rounded_up(threads, warp_threads) / warp_threads);
  simulation.resident = choices.resident > 0
                            ? choices.resident
                            : std::max(1, resident_blocks(kernel, threads, choices.dynamic_smem, hardware));
  for (std::size_t loop = 0; loop < code.loops.size(); ++loop) {
    if (!is_innermost(code, loop) && !multiplies(code, loop)) continue;
    SimulatedLoop& simulated = simulation.loops.emplace_back();
    simulated.loop = loop, simulated.path = step_path(code, loop, choices.through);
    simulated.warps = warps_of(code, loop, simulation.warps);
    SmProgram program{.code = {}, .warps = simulated.warps};
    program.code = machine.operations(instructions_on(code, simulated.path), simulated.warps);
    simulated.steady =
        simulate_steady(program, machine.limits(), simulation.resident, choices.event_passes, SmPasses::mean);
    if (choices.passes > 0 && simulated.warps == simulation.warps)
      add_blocks(code, machine, program, choices, hardware, simulation.resident, simulated);
  }
  simulation.missing = machine.missing();
  return simulation;
}

}  // namespace tilescope
