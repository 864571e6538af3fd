// How many instructions of each kind a piece of code has.
#pragma once

#include <map>
#include <span>
#include <string>

#include "kernel/code/sass/kinds.h"
#include "kernel/code/sass/matrix.h"

namespace tilescope {

// Loads, stores, atomic operations and copies of one form.
struct MemoryForm {
  InstructionKind kind = InstructionKind::load;
  CodeMemory memory = CodeMemory::none;
  std::string opcode{};           // "LDG", "UTMALDG"
  std::int64_t thread_bytes = 0;  // of a thread; 0: the instruction does not say

  friend auto operator<=>(const MemoryForm&, const MemoryForm&) = default;
};

struct MemoryCount {
  std::int64_t instructions = 0;
  std::int64_t guarded = 0;      // of them under a predicate
  std::int64_t alternative = 0;  // of the guarded ones: a thread that executes the others does not execute these

  std::int64_t of_thread() const { return instructions - alternative; }  // the most that one thread executes
};

struct CodeCounts {
  std::int64_t instructions = 0;
  std::map<InstructionKind, std::int64_t> kinds;
  std::map<std::string, std::int64_t> opcodes;  // with their modifiers
  std::map<MatrixInstruction, std::int64_t> matrix;
  std::map<std::string, std::int64_t> special;  // by function: "EX2"
  std::map<MemoryForm, MemoryCount> memory;
  // Waits that leave work in flight, by what they wait for ("DEPBAR" for groups of copies, "WARPGROUP" for groups of
  // matrix products) and the number of groups that may stay.
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> waits;

  std::int64_t of(InstructionKind kind) const;
  std::int64_t tensor_flop() const;                                          // of all warps that share the instructions
  std::int64_t thread_bytes(InstructionKind kind, CodeMemory memory) const;  // of a thread
  CodeCounts& operator+=(const CodeCounts& more);
};

CodeCounts counts_of(std::span<const Instruction> code);

}  // namespace tilescope
