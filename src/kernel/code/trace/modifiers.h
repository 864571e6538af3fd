// Modifiers of opcodes that decide how integer code is carried out, as bits.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kernel/code/sass/instruction.h"

namespace tilescope {

enum class Modifier : std::uint8_t {
  extended,
  wide,
  upper,
  left,
  sign_extended,
  wraps,
  moves,
  adds,
  any,
  exclusive,
  with_lower,
  nonnegative,
  rounds_up,
  from_top,
  unsigned_32,
  signed_32,
  unsigned_64,
  signed_64,
  float_64,
  float_16,
  bits_128,
  bits_64,
  bits_32,
  bits_16,
  bits_8,
  unsigned_16,
  signed_16,
  unsigned_8,
  signed_8,
  divergent,
  converged,
  arrives,
  waits,
  by_index
};
// As a listing writes them, in the order above.
constexpr std::array<std::string_view, 34> modifier_names{
    "X",  "WIDE", "HI",  "L",   "SX32", "W",   "MOV",  "IADD",   "OR",      "XOR", "EX", "RELU",
    "RP", "SH",   "U32", "S32", "U64",  "S64", "F64",  "F16",    "128",     "64",  "32", "16",
    "8",  "U16",  "S16", "U8",  "S8",   "DIV", "CONV", "ARRIVE", "TRYWAIT", "IDX"};

class Modifiers {
 public:
  Modifiers() = default;
  explicit Modifiers(const Instruction& instruction) {
    for (const std::string& name : instruction.modifiers)
      for (std::size_t i = 0; i < modifier_names.size(); ++i)
        if (name == modifier_names[i]) bits_ |= std::uint64_t{1} << i;
  }
  bool has(Modifier modifier) const { return (bits_ >> static_cast<unsigned>(modifier) & 1) != 0; }

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace tilescope
