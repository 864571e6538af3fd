// Kinds that a descriptor names, each with one table of its names in YAML and its properties.
#pragma once

#include <array>

#include "base/enum_table.h"

namespace tilescope {

// How an island's products are computed.
enum class TensorPath { tensor, mma_sync, wgmma, fma, none };
struct TensorPathRow {
  TensorPath value;
  std::string_view name;
  std::string_view title;  // in pseudocode
  bool tensor_cores;       // matrix instructions execute the products
  bool warpgroup;          // four warps issue an instruction; it reads shared memory itself and runs asynchronously
  bool from_registers;     // each warp waits in order for instructions that take every operand from registers
  bool assumed;            // the datasheet's rate; the instruction is not known
  std::string_view
      only_on;  // the one compute capability that has the instruction; empty: any from the kernel's least on
  std::string_view vendor;  // whose GPUs alone have the instruction; empty: anyone's
  double least_capability;  // of that vendor's, the first compute capability that has it; 0: any. Shapes may need more
};
template <>
struct EnumTable<TensorPath> {
  static constexpr std::array rows{
      TensorPathRow{TensorPath::tensor, "tensor", "matrix instructions", true, false, false, true, "", "", 0},
      TensorPathRow{TensorPath::mma_sync, "mma.sync", "mma.sync", true, false, true, false, "", "NVIDIA", 7.0},
      TensorPathRow{TensorPath::wgmma, "wgmma", "wgmma", true, true, false, false, "9.0", "NVIDIA", 9.0},
      TensorPathRow{TensorPath::fma, "fma", "fma", false, false, false, false, "", "", 0},
      TensorPathRow{TensorPath::none, "none", "none", false, false, false, false, "", "", 0}};
};

// By which instructions tiles move between L2 and the SM.
enum class CopyPath { cp_async, st, tma, ld };
struct CopyPathRow {
  CopyPath value;
  std::string_view name;
  std::string_view title;   // in pseudocode
  bool loads, stores;       // directions that it serves
  bool bulk;                // one thread starts the copy of a whole tile, which the copy engine carries out
  bool asynchronous;        // threads go on while the bytes are on their way, and wait for them later
  std::string_view vendor;  // as of TensorPathRow
  double least_capability;
};
template <>
struct EnumTable<CopyPath> {
  static constexpr std::array rows{
      CopyPathRow{CopyPath::cp_async, "cp.async", "cp.async", true, false, false, true, "NVIDIA", 8.0},
      CopyPathRow{CopyPath::st, "st", "store from registers", false, true, false, false, "", 0},
      CopyPathRow{CopyPath::tma, "tma", "TMA bulk copy", true, true, true, true, "NVIDIA", 9.0},
      CopyPathRow{CopyPath::ld, "ld", "load through registers", true, false, false, false, "", 0}};
};

// Dimensions of the grid of blocks. heads: query heads or KV heads, as the schedule groups them.
enum class GridDimension { q, kv, heads, batch };
struct GridDimensionRow {
  GridDimension value;
  std::string_view name;
  bool within_head;  // tiles of one head lie along it
};
template <>
struct EnumTable<GridDimension> {
  static constexpr std::array rows{
      GridDimensionRow{GridDimension::q, "q", true}, GridDimensionRow{GridDimension::kv, "kv", true},
      GridDimensionRow{GridDimension::heads, "heads", false}, GridDimensionRow{GridDimension::batch, "batch", false}};
};

// Dimensions of an array in memory, slowest first. arrays: inputs that lie side by side in each row of one tensor.
enum class LayoutDimension { batch, length, heads, arrays, dim };
template <>
struct EnumTable<LayoutDimension> {
  static constexpr std::array rows{
      NamedKind{LayoutDimension::batch, "batch"}, NamedKind{LayoutDimension::length, "length"},
      NamedKind{LayoutDimension::heads, "heads"}, NamedKind{LayoutDimension::arrays, "arrays"},
      NamedKind{LayoutDimension::dim, "dim"}};
};

// How the warps of a block go through its steps.
// lockstep: they meet at a barrier in every step; free: each warpgroup (or warp) at its own pace; the others: the same,
// but they take turns to issue their products, to work on the scores between them, or at both.
enum class Overlap { lockstep, free, ping_pong, ping_pong_scores, ping_pong_both };
struct OverlapRow {
  Overlap value;
  std::string_view name;
  bool products_in_turn, scores_in_turn;
};
template <>
struct EnumTable<Overlap> {
  static constexpr std::array rows{OverlapRow{Overlap::lockstep, "lockstep", false, false},
                                   OverlapRow{Overlap::free, "free", false, false},
                                   OverlapRow{Overlap::ping_pong, "ping-pong", true, false},
                                   OverlapRow{Overlap::ping_pong_scores, "ping-pong-scores", false, true},
                                   OverlapRow{Overlap::ping_pong_both, "ping-pong-both", true, true}};
};

// Under which masks a fact of the block order holds.
enum class When { always, causal };
template <>
struct EnumTable<When> {
  static constexpr std::array rows{NamedKind{When::always, "always"}, NamedKind{When::causal, "causal"}};
};

// Thread operations' pipes. The first `arithmetic_pipes` are those whose operands count as register traffic. alu:
// maxima, integers, logic; shared: wavefronts of shared memory, not operations of threads; others: instructions of
// threads on none of these pipes.
enum class Pipe { xu, ffma, fadd, fmul, alu, conversion, shuffle, shared, others };
template <>
struct EnumTable<Pipe> {
  static constexpr std::array rows{
      NamedKind{Pipe::xu, "xu"},           NamedKind{Pipe::ffma, "ffma"},     NamedKind{Pipe::fadd, "fadd"},
      NamedKind{Pipe::fmul, "fmul"},       NamedKind{Pipe::alu, "alu"},       NamedKind{Pipe::conversion, "conversion"},
      NamedKind{Pipe::shuffle, "shuffle"}, NamedKind{Pipe::shared, "shared"}, NamedKind{Pipe::others, "others"}};
};
inline constexpr int pipe_count = static_cast<int>(kind_count<Pipe>), arithmetic_pipes = 4;

}  // namespace tilescope
