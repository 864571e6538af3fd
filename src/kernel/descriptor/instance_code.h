// What the machine code of a built instance executes: kernels/NAME/code.json, which validate/tools/code_json.py writes.
#pragma once

#include <array>
#include <cstdint>

#include "base/enum_table.h"

namespace tilescope {

// Instructions of a warp. alu: of the ALU pipe without conversions; maxima: of these, fp32 maxima; matrix, ldsm,
// ldgsts: matrix products, loads of their operands, copies to shared memory.
enum class CodeCount { instructions, xu, ffma, fadd, fmul, alu, maxima, conversion, shuffle, matrix, ldsm, ldgsts };
template <>
struct EnumTable<CodeCount> {
  static constexpr std::array rows{NamedKind{CodeCount::instructions, "instructions"},
                                   NamedKind{CodeCount::xu, "xu"},
                                   NamedKind{CodeCount::ffma, "ffma"},
                                   NamedKind{CodeCount::fadd, "fadd"},
                                   NamedKind{CodeCount::fmul, "fmul"},
                                   NamedKind{CodeCount::alu, "alu"},
                                   NamedKind{CodeCount::maxima, "maxima"},
                                   NamedKind{CodeCount::conversion, "conversion"},
                                   NamedKind{CodeCount::shuffle, "shuffle"},
                                   NamedKind{CodeCount::matrix, "matrix"},
                                   NamedKind{CodeCount::ldsm, "ldsm"},
                                   NamedKind{CodeCount::ldgsts, "ldgsts"}};
};

// Pieces of code by how often they run: once in a block that claims tiles; once for each tile of queries; once for each
// that sees a key; in each pass of the loop over keys; in all passes but a tile's last; in passes whose keys the mask
// cuts behind the last key of a row; in those that only the end of the keys cuts; in those that the mask cuts before
// the first key of a row; in each step of a warp that only copies.
enum class CodePass { launch, once, live, step, ahead, end, tail, begin, copies };
template <>
struct EnumTable<CodePass> {
  static constexpr std::array rows{NamedKind{CodePass::launch, "launch"}, NamedKind{CodePass::once, "once"},
                                   NamedKind{CodePass::live, "live"},     NamedKind{CodePass::step, "step"},
                                   NamedKind{CodePass::ahead, "ahead"},   NamedKind{CodePass::end, "end"},
                                   NamedKind{CodePass::tail, "tail"},     NamedKind{CodePass::begin, "begin"},
                                   NamedKind{CodePass::copies, "copies"}};
};
inline constexpr std::size_t code_count_count = kind_count<CodeCount>, code_pass_count = kind_count<CodePass>;

struct InstanceCode {
  std::int64_t warps = 0;      // that run the loop over keys; 0: the instance's code is not known
  std::int64_t before = 0;     // steps that stand before the loop, in `live`
  std::int64_t mask_rows = 0;  // queries that one decision to cut a tile of keys is for; 0: the block's
  std::array<std::array<std::int64_t, code_count_count>, code_pass_count> passes{};

  std::int64_t of(CodePass pass, CodeCount count) const {
    return passes[static_cast<std::size_t>(pass)][static_cast<std::size_t>(count)];
  }
};

}  // namespace tilescope
