// The code of all warps of a simulated SM: start of a block, loop and end, one behind the other.
#pragma once

#include <algorithm>
#include <vector>

#include "simulate/sm/sm.h"

namespace tilescope::sm_state {

struct CodeOperation : SmOperation {
  bool in_order = false;  // other schedulers see what it does, or that a pass ends
  bool holds = false;     // a scoreboard
  bool plain = false;     // keeps a part of its scheduler busy, or none, and another operation of the pass follows
};

struct SmCode {
  SmCode(const std::vector<SmOperation>& program, const SmEnds& ends, const SmBeside& other = {})
      : loop(static_cast<std::uint32_t>(ends.start.size())),
        loop_end(static_cast<std::uint32_t>(loop + program.size())),
        end(static_cast<std::uint32_t>(loop_end + ends.end.size())),
        beside_end(static_cast<std::uint32_t>(end + other.code.size())) {
    operations.reserve(beside_end);
    for (const auto* part : {&ends.start, &program, &ends.end, &other.code})
      for (const SmOperation& operation : *part) add(operation);
    if (loop_end > loop) operations[loop_end - 1].in_order = true;
    for (const std::uint32_t behind : {loop_end, end, beside_end})
      if (behind > 0) operations[behind - 1].plain = false;
  }

  std::int64_t length() const { return loop_end - loop; }

  std::vector<CodeOperation> operations;
  std::uint32_t loop, loop_end, end;  // operations of a pass; behind the last one of a block
  std::uint32_t beside_end;           // from `end` on: a pass of warps of another role

 private:
  void add(const SmOperation& operation) {
    constexpr std::uint8_t none = IssueControl::no_scoreboard;
    CodeOperation& op = operations.emplace_back(CodeOperation{operation});
    op.result_board = std::min(op.result_board, none), op.operand_board = std::min(op.operand_board, none);
    op.wait_mask = static_cast<std::uint8_t>(op.wait_mask & ((1u << none) - 1));
    op.holds = op.result_board < none || op.operand_board < none;
    op.in_order = op.part == SmPart::memory || op.effect == SmEffect::barrier_sync ||
                  op.effect == SmEffect::barrier_arrive || op.effect == SmEffect::phase_arrive;
    op.plain = op.part != SmPart::memory && op.effect == SmEffect::none;
  }
};

}  // namespace tilescope::sm_state
