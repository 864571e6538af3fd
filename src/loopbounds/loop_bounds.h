// Lower bounds of a pass through the innermost loops of a kernel, from its machine code and a GPU's measured rates.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/code/summary/code_summary.h"
#include "loopbounds/instruction_costs.h"

namespace tilescope {

// An instruction in a pass that one warp on each scheduler executes alone.
struct TimedInstruction {
  std::size_t instruction = 0;  // of the section
  std::optional<CodePipe> pipe{};
  double pipe_clocks = 0;
  double issued = 0;                       // clock, from the start of the pass
  double waited = 0;                       // clocks beyond the stall count of the instruction before it
  std::string reason{};                    // of the wait: "scoreboard 2", "pipe xu", "matrix products"
  std::optional<std::size_t> waits_for{};  // instruction that set the scoreboard
};

struct LoopBound {
  std::size_t loop = 0;              // of the summary
  double issue = 0;                  // clocks of a scheduler
  double banks = 0;                  // the same, with waits for register banks of multiply-adds
  std::map<CodePipe, double> pipes;  // clocks of each pipe
  double alone = 0;                  // clocks of a pass that one warp on each scheduler executes alone, in order
  std::string busiest;               // "issue", "banks" or the pipe with most clocks
  double busiest_clocks = 0;
  double warps_to_hide = 0;  // of a scheduler, until the busiest part and not the order of instructions binds
  std::vector<TimedInstruction> instructions;
};

struct KernelBounds {
  std::string hardware;
  std::vector<LoopBound> loops;
  std::set<std::string> missing;  // measured values that the profile lacks
};

// Whether no loop is inside of it but those that wait.
bool is_innermost(const CodeSummary& code, std::size_t loop);

// Counts the instructions that every pass executes; those under a branch only add to it. All loads hit the nearest
// cache, and what other warps or copies provide is there.
KernelBounds kernel_bounds(const CodeSummary& code, const HardwareProfile& hardware);

}  // namespace tilescope
