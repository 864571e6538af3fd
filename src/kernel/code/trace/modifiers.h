// Modifiers of opcodes that decide how integer code is carried out, as bits.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/enum_table.h"
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
// With the names that a listing has for them.
template <>
struct EnumTable<Modifier> {
  static constexpr std::array rows{NamedKind{Modifier::extended, "X"},
                                   NamedKind{Modifier::wide, "WIDE"},
                                   NamedKind{Modifier::upper, "HI"},
                                   NamedKind{Modifier::left, "L"},
                                   NamedKind{Modifier::sign_extended, "SX32"},
                                   NamedKind{Modifier::wraps, "W"},
                                   NamedKind{Modifier::moves, "MOV"},
                                   NamedKind{Modifier::adds, "IADD"},
                                   NamedKind{Modifier::any, "OR"},
                                   NamedKind{Modifier::exclusive, "XOR"},
                                   NamedKind{Modifier::with_lower, "EX"},
                                   NamedKind{Modifier::nonnegative, "RELU"},
                                   NamedKind{Modifier::rounds_up, "RP"},
                                   NamedKind{Modifier::from_top, "SH"},
                                   NamedKind{Modifier::unsigned_32, "U32"},
                                   NamedKind{Modifier::signed_32, "S32"},
                                   NamedKind{Modifier::unsigned_64, "U64"},
                                   NamedKind{Modifier::signed_64, "S64"},
                                   NamedKind{Modifier::float_64, "F64"},
                                   NamedKind{Modifier::float_16, "F16"},
                                   NamedKind{Modifier::bits_128, "128"},
                                   NamedKind{Modifier::bits_64, "64"},
                                   NamedKind{Modifier::bits_32, "32"},
                                   NamedKind{Modifier::bits_16, "16"},
                                   NamedKind{Modifier::bits_8, "8"},
                                   NamedKind{Modifier::unsigned_16, "U16"},
                                   NamedKind{Modifier::signed_16, "S16"},
                                   NamedKind{Modifier::unsigned_8, "U8"},
                                   NamedKind{Modifier::signed_8, "S8"},
                                   NamedKind{Modifier::divergent, "DIV"},
                                   NamedKind{Modifier::converged, "CONV"},
                                   NamedKind{Modifier::arrives, "ARRIVE"},
                                   NamedKind{Modifier::waits, "TRYWAIT"},
                                   NamedKind{Modifier::by_index, "IDX"}};
};

class Modifiers {
 public:
  Modifiers() = default;
  explicit Modifiers(const Instruction& instruction) {
    for (const std::string& name : instruction.modifiers)
      if (const auto known = parse_kind<Modifier>(name)) bits_ |= bit(*known);
  }
  bool has(Modifier modifier) const { return (bits_ & bit(modifier)) != 0; }

 private:
  static std::uint64_t bit(Modifier modifier) { return std::uint64_t{1} << static_cast<unsigned>(modifier); }
  static_assert(in_order<Modifier>() && kind_count<Modifier> <= 64);

  std::uint64_t bits_ = 0;
};

}  // namespace tilescope
