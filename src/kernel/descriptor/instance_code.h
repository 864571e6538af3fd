// What the machine code of a built instance executes: kernels/NAME/code.json, which validate/tools/code_json.py writes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/enum_table.h"

namespace tilescope {

// Instructions of a warp. alu: of the ALU pipe without conversions; maxima: of these, fp32 maxima; matrix, ldsm,
// ldgsts: products (matrix instructions, or multiply-adds of products in plain FMA), loads of their operands, copies to
// shared memory; wavefronts: of shared memory, of what is no tile: where products are plain FMA, statistics of rows;
// barriers: of the block; shared_waits: waits for loads of statistics from shared memory.
// Of launches without tensor cores, what a warp by itself waits for (validate/tools/code_waits.py): clocks: of its
// instructions one after the other, if memory answered at once; load_waits, shared_waits, special_waits: for loads from
// global and shared memory and special functions that follow on each other; bank_waits: clocks of its scheduler for
// register banks.
enum class CodeCount {
  instructions,
  xu,
  ffma,
  fadd,
  fmul,
  alu,
  maxima,
  conversion,
  shuffle,
  matrix,
  ldsm,
  ldgsts,
  wavefronts,
  barriers,
  shared_waits,
  clocks,
  load_waits,
  special_waits,
  bank_waits
};
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
                                   NamedKind{CodeCount::ldgsts, "ldgsts"},
                                   NamedKind{CodeCount::wavefronts, "wavefronts"},
                                   NamedKind{CodeCount::barriers, "barriers"},
                                   NamedKind{CodeCount::shared_waits, "shared_waits"},
                                   NamedKind{CodeCount::clocks, "clocks"},
                                   NamedKind{CodeCount::load_waits, "load_waits"},
                                   NamedKind{CodeCount::special_waits, "special_waits"},
                                   NamedKind{CodeCount::bank_waits, "bank_waits"}};
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
  std::string array;  // that it loads
  std::int64_t apart = 1, beside = 1, group = 1;
  PassCounts some{}, around_left{}, around_groups{}, left{}, of_group{};
};

struct InstanceCode {
  std::string symbol;           // of the instance
  std::int64_t warps = 0;       // that run the loop over keys; 0: the instance's code is not known
  std::int64_t registers = 0;   // of a thread when a block starts; 0: not known
  std::int64_t before = 0;      // steps that stand before the loop, in `live`
  std::int64_t mask_rows = 0;   // queries that one decision to cut a tile of keys is for; 0: the block's
  bool one_mask = false;        // one piece of code cuts a tile before the first key and behind the last one
  std::int64_t mask_keys = 0;   // of packed rows: keys that one decision to cut a tile of keys is for
  std::int64_t mask_warps = 0;  // that take it; 0: first_warps
  std::int64_t lead = 1;        // tiles that are copied before the loop
  std::int64_t first_warps = 1, first_lanes = 32;  // that execute `first`
  std::array<PassCounts, code_pass_count> passes{};
  std::vector<StepsLoop> loops;
  // Of products in plain FMA: `step` is a round, which takes so many terms of the sum along this axis.
  std::string round_axis;
  std::int64_t round_terms = 0;
  // Of a launch whose blocks own a row that no loop cuts: `step` is for so many keys, `tail` for each of them past the
  // first `packets`, by at most one warp of a block each.
  std::int64_t packet = 0, packets = 0;

  std::int64_t of(CodePass pass, CodeCount count) const {
    return passes[static_cast<std::size_t>(pass)][static_cast<std::size_t>(count)];
  }
};

// Of one launch of several: for so many steps, columns of the output, a tile, a size of an axis. 0 and empty: any.
struct LaunchCode {
  std::string launch;
  std::int64_t least_steps = 1, most_steps = 0;
  std::int64_t columns = 0;
  std::int64_t head_dim = 0, tile_q = 0, tile_kv = 0, warps = 0, stages = 0;  // of the variant
  std::vector<Dtype> dtypes;                                                  // of the queries
  std::optional<bool> masked, whole;  // with a mask; where all tiles are whole (a preference)
  std::string axis;       // of the instances for sizes of this axis, the one of the smallest that holds it runs
  std::int64_t size = 0;  // or that of the largest size
  InstanceCode code;
};

}  // namespace tilescope
