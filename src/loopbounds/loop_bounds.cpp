#include "loopbounds/loop_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>

#include "kernel/code/sass/kinds.h"
#include "loopbounds/register_banks.h"

namespace tilescope {
namespace {

constexpr int passes = 4;  // the last one is reported: what earlier passes leave behind has settled
constexpr int scoreboards = 6;

// A warp on each scheduler, alone: instructions issue in order when their scoreboards are free and their pipe is.
class LoneWarp {
 public:
  LoneWarp(const CodeSummary& code, const InstructionCosts& costs) : code_(code), costs_(costs) {}

  std::vector<TimedInstruction> pass(const std::vector<std::size_t>& blocks) {
    const double start = now_;
    std::vector<TimedInstruction> timed;
    for (const std::size_t block : blocks)
      for (std::size_t i = code_.blocks[block].begin; i < code_.blocks[block].end; ++i) {
        timed.push_back(issue(i));
        timed.back().issued -= start;
      }
    return timed;
  }
  double now() const { return now_; }

 private:
  struct Board {
    double free = 0;
    std::size_t set_by = 0;
  };

  void wait_until(double clock, const std::string& reason, std::optional<std::size_t> cause, TimedInstruction& timed) {
    if (clock <= ready_) return;
    ready_ = clock, timed.reason = reason, timed.waits_for = cause;
  }

  TimedInstruction issue(std::size_t index) {
    const Instruction& instruction = code_.section.instructions[index];
    TimedInstruction timed{.instruction = index};
    ready_ = now_;
    for (int board = 0; board < scoreboards; ++board)
      if (instruction.control.wait_mask >> board & 1)
        wait_until(boards_[board].free, fmt::format("scoreboard {}", board), boards_[board].set_by, timed);
    if (instruction.opcode == "WARPGROUP" && instruction.has("DEPBAR")) wait_for_products(instruction, timed);
    const auto busy = costs_.pipe(instruction);
    if (busy) {
      timed.pipe = busy->pipe, timed.pipe_clocks = busy->clocks;
      use_pipe(instruction, *busy, timed);
    }
    set_scoreboards(instruction, index);
    timed.issued = ready_, timed.waited = ready_ - now_;
    now_ = ready_ + std::max<double>(costs_.issue(), instruction.control.stall);
    if (instruction.opcode == "BAR" && instruction.has("SYNC")) now_ += costs_.barrier(code_.warps);
    return timed;
  }

  // Products of a warpgroup run behind each other and complete later; the others hold the warp until their pipe is
  // free.
  void use_pipe(const Instruction& instruction, const PipeClocks& busy, TimedInstruction& timed) {
    double& free = free_[busy.pipe];
    const bool later = instruction.opcode.ends_with("GMMA");
    if (!later) wait_until(free, "pipe " + to_string(busy.pipe), std::nullopt, timed);
    free = std::max(free, ready_) + busy.clocks;
    const auto& operands = instruction.operands;
    if (later && std::find(operands.begin(), operands.end(), "gsb0") != operands.end())
      groups_.push_back(free + costs_.product_wait());
  }

  // WARPGROUP.DEPBAR.LE gsb0, N: at most N groups of products may still run.
  void wait_for_products(const Instruction& instruction, TimedInstruction& timed) {
    std::size_t left = 0;
    if (const std::string& text = instruction.operands.back(); text.starts_with("0x"))
      std::from_chars(text.data() + 2, text.data() + text.size(), left, 16);
    while (groups_.size() > left) {
      wait_until(groups_.front(), "matrix products", std::nullopt, timed);
      groups_.pop_front();
    }
  }

  void set_scoreboards(const Instruction& instruction, std::size_t index) {
    const auto set = [&](int board, double clock) {
      if (board < scoreboards && clock >= boards_[board].free) boards_[board] = {clock, index};
    };
    set(instruction.control.result_scoreboard, ready_ + costs_.latency(instruction));
    set(instruction.control.operand_scoreboard, ready_ + costs_.operands_read());
  }

  const CodeSummary& code_;
  const InstructionCosts& costs_;
  double now_ = 0, ready_ = 0;
  std::array<Board, IssueControl::no_scoreboard + 1> boards_{};
  std::map<CodePipe, double> free_;
  std::deque<double> groups_;  // ends of groups of asynchronous products
};

LoopBound bound_of(const CodeSummary& code, std::size_t index, const InstructionCosts& costs) {
  LoopBound bound{.loop = index, .pipes = {}, .busiest = "issue", .instructions = {}};
  LoneWarp warp(code, costs);
  double start = 0;
  for (int pass = 0; pass < passes; ++pass) {
    start = warp.now();
    bound.instructions = warp.pass(code.loops[index].main_path);
  }
  bound.alone = warp.now() - start;
  bound.issue = costs.issue() * static_cast<double>(bound.instructions.size());
  for (const TimedInstruction& timed : bound.instructions)
    if (timed.pipe) bound.pipes[*timed.pipe] += timed.pipe_clocks;
  std::vector<const Instruction*> pass;
  for (const TimedInstruction& timed : bound.instructions)
    pass.push_back(&code.section.instructions[timed.instruction]);
  bound.banks = bound.issue + bank_waits(pass);
  if (bound.banks > bound.issue) bound.busiest = "banks";
  bound.busiest_clocks = bound.banks;
  for (const auto& [pipe, clocks] : bound.pipes)
    if (clocks > bound.busiest_clocks) bound.busiest_clocks = clocks, bound.busiest = to_string(pipe);
  if (bound.busiest_clocks > 0) bound.warps_to_hide = bound.alone / bound.busiest_clocks;
  return bound;
}

}  // namespace

bool is_innermost(const CodeSummary& code, std::size_t loop) {
  return !code.loops[loop].waits && std::none_of(code.loops.begin(), code.loops.end(), [&](const CodeLoop& other) {
    return other.parent == loop && !other.waits;
  });
}

KernelBounds kernel_bounds(const CodeSummary& code, const HardwareProfile& hardware) {
  const InstructionCosts costs(hardware);
  KernelBounds bounds{.hardware = hardware.id, .loops = {}, .missing = {}};
  for (std::size_t loop = 0; loop < code.loops.size(); ++loop)
    if (is_innermost(code, loop)) bounds.loops.push_back(bound_of(code, loop, costs));
  bounds.missing = costs.missing();
  return bounds;
}

}  // namespace tilescope
