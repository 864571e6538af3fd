// Operands of an instruction as numbers, so that the instruction can be carried out many times.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernel/code/sass/instruction.h"
#include "kernel/code/trace/integer_unit.h"
#include "kernel/code/trace/modifiers.h"

namespace tilescope {

struct DecodedOperand {
  enum class Kind : std::uint8_t { other, general, uniform, predicate, uniform_predicate, number, constant, memory };
  Kind kind = Kind::other;
  bool negative = false, inverted = false, magnitude = false;
  std::int16_t index = -1;   // of a register; -1: the constant RZ, URZ, PT or UPT
  std::uint32_t number = 0;  // an immediate; the offset of a constant or of an address
  std::int16_t bank = 0;     // of a constant
  std::int16_t base = -1;    // general register that an address or a constant's offset adds; -1: none
  std::int16_t ubase = -1;   // uniform register that it adds
  bool wide_base = false;    // the base is a pair of registers
  bool wide_ubase = false;
};

// How a thread carries out an instruction. `forget`: what it writes is unknown, as what floating-point units compute.
enum class Action : std::uint8_t { none, forget, special, constant, load, store, agree, predicates, shuffle, compute };

// Opcodes that need more than their action says.
enum class TracedOpcode : std::uint8_t {
  other,
  branch,
  leave,
  converge,
  come_back,
  call,
  matrix_load,
  barrier,
  copy,
  copy_by_map,
  store_by_map,
  clock,
  elect,
  vote,
  set_predicates
};

struct DecodedInstruction {
  std::vector<DecodedOperand> operands;
  std::size_t results = 0;  // leading operands that are written
  Action action = Action::none;
  TracedOpcode opcode = TracedOpcode::other;
  IntegerCode code;
  std::uint8_t words = 1;    // that a load or store moves
  bool narrow = false;       // it moves a part of a word
  bool local = false;        // it accesses memory of the thread's own
  bool writes_pair = false;  // the first register that it writes and the next one
  bool ends_block = false;
  bool recorded = false;               // it accesses global memory, or is one of those that a run notes
  bool follows_integers = false;       // a floating-point number from memory decides no sizes
  bool loads = false, claims = false;  // claims: an atomic operation in global memory
};

DecodedOperand decode_operand(std::string_view text);
DecodedInstruction decode(const Instruction& instruction);

}  // namespace tilescope
