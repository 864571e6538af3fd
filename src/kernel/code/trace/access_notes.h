// What a thread's instructions access, as far as its registers tell.
#pragma once

#include <vector>

#include "kernel/code/trace/thread_run.h"
#include "kernel/code/trace/thread_state.h"

namespace tilescope {

class AccessNotes {
 public:
  // Of a thread with the registers `state`; writes into `run`.
  AccessNotes(const CodeSection& section, const std::vector<DecodedInstruction>& decoded, const ThreadState& state,
              ThreadRun& run)
      : section_(section), decoded_(decoded), state_(state), run_(run) {}

  // An instruction whose guard holds or is not known.
  void record(std::size_t at, bool unknown_guard);

 private:
  void note_target(const DecodedOperand& operand, TracedAccess& access);
  void note_wait(std::size_t at);
  void note_first(std::size_t at);
  void far_address(const DecodedOperand& operand, TracedAccess& access);
  void add_copy(const std::vector<DecodedOperand>& operands, TracedAccess& access);

  const CodeSection& section_;
  const std::vector<DecodedInstruction>& decoded_;
  const ThreadState& state_;
  ThreadRun& run_;
};

}  // namespace tilescope
