// Registers that an instruction reads and writes, from its operands and modifiers.
#pragma once

#include "kernel/code/sass/instruction.h"

namespace tilescope {

// Fills `reads`, `writes` and the guard's predicate is among the reads. Returns false for a register number that no
// GPU has.
bool add_registers(Instruction& instruction);

// Bytes that a load, store, atomic operation or copy by threads moves for one thread; 0: the instruction does not say.
int bytes_of_thread(const Instruction& instruction);

}  // namespace tilescope
