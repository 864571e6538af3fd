// Clocks of a step of a kernel's loops: its machine code, executed on a simulated SM with a GPU's measured rates.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/code/cubin.h"
#include "kernel/code/summary/code_summary.h"
#include "simulate/sm/sm.h"

namespace tilescope {

// What code cannot tell.
struct SimulationChoices {
  std::int64_t threads = 0;              // of a block; 0: the most that the code states
  std::int64_t dynamic_smem = 0;         // bytes of a block
  int resident = 0;                      // blocks of an SM; 0: as many as fit
  std::vector<std::uint64_t> through{};  // addresses under a branch that a pass executes, see step_path
  CopySource copies_from = CopySource::hbm;
  std::int64_t passes = 0;  // of the loop in a block; 0: blocks are not simulated from start to end
  std::int64_t blocks = 0;  // of the launch; 0: it is not composed
  int event_passes = 0;     // whose events are kept
};

struct SimulatedLoop {
  std::size_t loop = 0;             // of the summary
  std::vector<std::size_t> path{};  // instructions of the section; SmSteady has them in this order
  std::vector<std::size_t> start{},
      end{};      // those of a block before and after the loop, with SimulationChoices::passes
  int warps = 0;  // of a block, that run the loop
  SmSteady steady{};
  double block_clocks = 0;   // of all passes with start and end, as many blocks as fit; 0: not simulated
  double launch_clocks = 0;  // active clocks of an SM in the launch, mean of all SMs; 0: not composed
};

struct KernelSimulation {
  std::string hardware;
  int resident = 0;    // blocks of an SM
  int warps = 0;       // of a block
  int schedulers = 0;  // of an SM
  std::vector<SimulatedLoop> loops;
  std::string refused;            // why there are none; empty: there are
  std::set<std::string> missing;  // measured values that the profile lacks
};

// Blocks of a kernel that an SM holds at once, by threads, registers, shared memory and block slots; 0: none fits.
int resident_blocks(const CubinKernel& kernel, std::int64_t threads, std::int64_t dynamic_smem,
                    const HardwareProfile& hardware);

// A choice that no launch of the kernel on this GPU can have.
struct ImpossibleChoice {
  std::string option, reason;  // option: without dashes; reason: the limit with its number
};
std::optional<ImpossibleChoice> impossible_choice(const CubinKernel& kernel, const HardwareProfile& hardware,
                                                  const SimulationChoices& choices);

// Whether a simulated pass executes the instruction at this address.
bool passes_through(const CodeSummary& code, const KernelSimulation& simulation, std::uint64_t address);

// Active clocks of all SMs together: each SM gets an equal share of the blocks, runs as many at once as fit, and begins
// the next round `gap` clocks after one. `round`: clocks of this number of blocks at once.
double launch_clocks(std::int64_t blocks, std::int64_t units, int resident, double gap,
                     const std::function<double(int)>& round);

// Innermost loops, each by the warps of a block that run it. What warps of other roles provide is there in time.
KernelSimulation simulate_kernel(const CubinKernel& kernel, const CodeSummary& code, const HardwareProfile& hardware,
                                 const SimulationChoices& choices);

}  // namespace tilescope
