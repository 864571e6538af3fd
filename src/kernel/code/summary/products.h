// Matrix products of a piece of code: which instructions add to the same accumulators.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/code/sass/instruction.h"
#include "kernel/code/sass/matrix.h"

namespace tilescope {

// Results of one kind that a warp (or a warpgroup: `instruction.threads`) computes. A result is one accumulator tile of
// m x n; the instructions of its chain add products of depth k to it.
struct MatrixProduct {
  MatrixInstruction instruction{};
  bool fresh = false;                // a chain begins with zero, or with values that no result of its own went into;
                                     // else it adds to the results of the pass before
  std::int64_t length = 0;           // instructions of a chain
  std::int64_t chains = 0;           // results
  bool a_loaded = false;             // A comes from registers that this code loads from memory
  std::vector<std::size_t> first{};  // the instruction that begins each chain, by position in the code
  bool may_restart = false;          // a predicate decides whether a chain begins with zero
  // Of operands in registers: the tiles of A and of B with which the chains begin, and the load of the first one's.
  std::int64_t a_tiles = 0, b_tiles = 0;
  std::optional<std::size_t> a_load{}, b_load{};

  std::int64_t depth() const { return length * instruction.k; }
  std::int64_t elements() const { return chains * instruction.m * instruction.n; }  // of all results
  std::int64_t flop() const { return chains * length * instruction.flop(); }
};

// `code`: the instructions of one pass in the order of execution. An instruction continues a chain if it adds to
// registers that the chain's last instruction has written and no other instruction has written since. In the order of
// each product's first instruction.
std::vector<MatrixProduct> matrix_products(std::span<const Instruction* const> code);

}  // namespace tilescope
