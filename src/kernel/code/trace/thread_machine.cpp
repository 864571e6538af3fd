#include "kernel/code/trace/float_loads.h"
#include "kernel/code/trace/thread_run.h"

namespace tilescope {

ThreadMachine::ThreadMachine(const CodeSection& section, TracedLaunch launch, bool whole)
    : section_(section), launch_(std::move(launch)), whole_(whole), float_loads_(loads_of_floats(section)) {
  for (const std::int64_t offset : launch_.addresses) pointers_.insert(offset);
  for (const Instruction& i : section.instructions) {
    decoded_.push_back(decode(i));
    decoded_.back().loads = decoded_.back().loads && !float_loads_[decoded_.size() - 1];
    for (const DecodedOperand& operand : decoded_.back().operands)
      if (operand.kind == DecodedOperand::Kind::constant && operand.bank == 0 &&
          operand.number >= launch_.constant_offset) {
        const std::int64_t offset = operand.number - launch_.constant_offset;
        const bool wide = i.has("64") || i.has("WIDE");
        for (std::int64_t word = offset & ~std::int64_t{3}; word < offset + (wide ? 8 : 4); word += 4)
          words_read_.insert(word);
      }
  }
  if (!whole_) needed_ = needed_code(section, decoded_);
}

}  // namespace tilescope
