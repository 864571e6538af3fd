// What the machine code of a built instance executes: kernels/NAME/code.json, which validate/tools/code_json.py writes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

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
// the first key of a row; in each step of a warp that only copies; in all copies before the loop; once for each block
// and each row by one warp; for each 32 tiles of keys up to a tile of queries' last one.
enum class CodePass { launch, once, live, step, ahead, end, tail, begin, copies, fill, first, row, list };
template <>
struct EnumTable<CodePass> {
  static constexpr std::array rows{
      NamedKind{CodePass::launch, "launch"}, NamedKind{CodePass::once, "once"},   NamedKind{CodePass::live, "live"},
      NamedKind{CodePass::step, "step"},     NamedKind{CodePass::ahead, "ahead"}, NamedKind{CodePass::end, "end"},
      NamedKind{CodePass::tail, "tail"},     NamedKind{CodePass::begin, "begin"}, NamedKind{CodePass::copies, "copies"},
      NamedKind{CodePass::fill, "fill"},     NamedKind{CodePass::first, "first"}, NamedKind{CodePass::row, "row"},
      NamedKind{CodePass::list, "list"}};
};
inline constexpr std::size_t code_count_count = kind_count<CodeCount>, code_pass_count = kind_count<CodePass>;

using PassCounts = std::array<std::int64_t, code_count_count>;

// A loop over a stream's steps of which warps take every `apart`-th, `beside` of them side by side: first those left
// over from groups of `group`, one at a time, then the groups. Its pieces run for a warp: if it has a step, if some are
// left over, if it has a group; in each pass of either loop.
struct StepsLoop {
  std::int64_t apart = 1, beside = 1, group = 1;
  PassCounts some{}, around_left{}, around_groups{}, left{}, of_group{};
};

struct InstanceCode {
  std::string symbol;          // of the instance
  std::int64_t warps = 0;      // that run the loop over keys; 0: the instance's code is not known
  std::int64_t before = 0;     // steps that stand before the loop, in `live`
  std::int64_t mask_rows = 0;  // queries that one decision to cut a tile of keys is for; 0: the block's
  bool one_mask = false;       // one piece of code cuts a tile before the first key and behind the last one
  std::int64_t mask_keys = 0;  // of packed rows: keys that one decision to cut a tile of keys is for
  std::int64_t lead = 1;       // tiles that are copied before the loop
  std::int64_t first_warps = 1, first_lanes = 32;  // that execute `first`
  std::array<PassCounts, code_pass_count> passes{};
  std::vector<StepsLoop> loops;

  std::int64_t of(CodePass pass, CodeCount count) const {
    return passes[static_cast<std::size_t>(pass)][static_cast<std::size_t>(count)];
  }
};

// Of a launch without products, for so many steps and columns of the output.
struct LaunchCode {
  std::string launch;
  std::int64_t least_steps = 1, most_steps = 0;  // 0: no limit
  std::int64_t columns = 0;
  InstanceCode code;
};

}  // namespace tilescope
