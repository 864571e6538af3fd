// What instructions do, by their opcode. Nothing here says which pipe of a GPU runs them or how fast.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/enum_table.h"

namespace tilescope {

enum class InstructionKind {
  matrix,
  special,
  fp32,
  fp16,
  fp64,
  multiply_add,
  integer,
  logic,
  compare,
  select,
  move,
  conversion,
  shuffle,
  vote,
  load,
  store,
  atomic,
  async_copy,
  copy_wait,
  matrix_wait,
  mbarrier,
  barrier,
  fence,
  uniform,
  control,
  registers,
  texture,
  system,
  unknown,
};
struct InstructionKindRow {
  InstructionKind value;
  std::string_view name, meaning;
};
template <>
struct EnumTable<InstructionKind> {
  using K = InstructionKind;
  using R = InstructionKindRow;
  static constexpr std::array rows{
      R{K::matrix, "matrix", "matrix product of a warp or warpgroup"},
      R{K::special, "special", "exponential, logarithm, reciprocal, root, sine"},
      R{K::fp32, "fp32", "FP32 add, multiply, multiply-add"},
      R{K::fp16, "fp16", "packed FP16 or BF16 arithmetic"},
      R{K::fp64, "fp64", "FP64 arithmetic"},
      R{K::multiply_add, "multiply_add", "integer multiply-add; also moves and shifts written as one"},
      R{K::integer, "integer", "integer add, shift, bit field"},
      R{K::logic, "logic", "bitwise and predicate logic"},
      R{K::compare, "compare", "comparison, minimum, maximum"},
      R{K::select, "select", "selection by a predicate"},
      R{K::move, "move", "move or permutation of bytes within a thread"},
      R{K::conversion, "conversion", "conversion between number formats"},
      R{K::shuffle, "shuffle", "exchange between lanes"},
      R{K::vote, "vote", "vote, match or reduction over a warp"},
      R{K::load, "load", "load into registers"},
      R{K::store, "store", "store from registers"},
      R{K::atomic, "atomic", "atomic operation or reduction in memory"},
      R{K::async_copy, "async_copy", "copy between memories that completes later"},
      R{K::copy_wait, "copy_wait", "commit of copies or wait for them"},
      R{K::matrix_wait, "matrix_wait", "start of or wait for asynchronous matrix products"},
      R{K::mbarrier, "mbarrier", "operation on a barrier in shared memory"},
      R{K::barrier, "barrier", "barrier of a warp, block or cluster"},
      R{K::fence, "fence", "memory fence or cache control"},
      R{K::uniform, "uniform", "arithmetic of a whole warp on uniform registers"},
      R{K::control, "control", "branch, call, reconvergence, exit"},
      R{K::registers, "registers", "change of the warp's number of registers"},
      R{K::texture, "texture", "texture or surface access"},
      R{K::system, "system", "special registers, no operation"},
      R{K::unknown, "unknown", "not in the table of opcodes"},
  };
};

// Which memory an instruction accesses.
enum class CodeMemory { none, constant, global, shared, local, generic, tensor, global_to_shared, shared_to_global };
template <>
struct EnumTable<CodeMemory> {
  static constexpr std::array rows{
      NamedKind{CodeMemory::none, "none"},
      NamedKind{CodeMemory::constant, "constant"},
      NamedKind{CodeMemory::global, "global"},
      NamedKind{CodeMemory::shared, "shared"},
      NamedKind{CodeMemory::local, "local"},
      NamedKind{CodeMemory::generic, "generic"},
      NamedKind{CodeMemory::tensor, "tensor"},
      NamedKind{CodeMemory::global_to_shared, "global_to_shared"},
      NamedKind{CodeMemory::shared_to_global, "shared_to_global"},
  };
};

// Which operands are results. `one`: predicates before and behind the first register. `predicates`: the first two.
// `all_but_last`: every register but the last operand.
enum class ResultOperands { one, none, predicates, all_but_last };

// Registers of an operand. `word`: 1. `data`: results and stored values have the width in the modifiers. `wide`: 2.
// `matrix`: from the shape. `wide_sum`: 2 in result and last operand. `wide_result`, `wide_source`: 2 in these alone.
enum class OperandWidth { word, data, wide, matrix, wide_sum, conversion, tensor_copy };

struct OpcodeRow {
  std::string_view opcode;
  InstructionKind kind = InstructionKind::unknown;
  CodeMemory memory = CodeMemory::none;
  ResultOperands results = ResultOperands::one;
  OperandWidth width = OperandWidth::word;
};

std::span<const OpcodeRow> opcode_table();  // sorted by opcode

// The row of an opcode; of one that is not in the table: kind `unknown`.
const OpcodeRow& opcode_row(std::string_view opcode);

}  // namespace tilescope
