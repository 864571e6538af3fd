// What one warp does in a step of a block, as far as counts and descriptor tell: instructions by kind.
#pragma once

#include <vector>

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

// Instructions of a warp by pipe.
struct VectorOps {
  int ffma = 0, fadd = 0, fmul = 0, alu = 0, xu = 0, conversion = 0, shuffle = 0;
};
inline constexpr int VectorOps::*vector_ops[] = {&VectorOps::ffma,   &VectorOps::fadd, &VectorOps::fmul,
                                                 &VectorOps::alu,    &VectorOps::xu,   &VectorOps::conversion,
                                                 &VectorOps::shuffle};

// A product of the step.
struct ProductStep {
  MmaShape mma{};
  Format format = Format::fp16;  // that it computes in
  bool a_in_shared = false;      // of wgmma
  bool of_scores = false;        // its result is a tile of scores
  int instructions = 0;          // matrix instructions
  int depth = 1;                 // of these, so many one after the other add to the same sums
  int loads = 0;                 // ldmatrix
  int copies = 0;                // of its operands, where each product copies its own
  bool early = false;            // these begin before the work on the scores
};

struct WarpStep {
  // How the block works.
  bool wgmma = false;                                 // asynchronous products of warpgroups; else of warps
  bool lockstep = false;                              // its warps meet at a barrier in every step
  bool bulk = false;                                  // the copy engine brings the tiles; else the warps copy
  bool pipelined = false;                             // pointwise work runs under the last product of the step before
  bool waits_each = false, loads_in_product = false;  // IslandImplementation, KernelVariant
  bool products_in_turn = false, scores_in_turn = false;
  int parts = 1;  // that the products are made in, one after the other

  // Instructions of the warp.
  VectorOps scores{}, outputs{}, threads{}, once{};  // `threads`: addresses and loops; `once`: after a block's steps
  std::vector<ProductStep> products{};
  int copies = 0, first_copies = 0;             // of 16 bytes a thread, where threads copy: of a step, before all
  bool row_copy = false;                        // statistics of rows come behind the tiles
  int shared_stores = 0, shared_loads = 0;      // of tiles that warps give each other; of rows
  int shared_words = 0, shared_waits = 0;       // loads of a word a thread; those that wait for other warps
  int barriers = 0;                             // beside the one of `lockstep`
  int sums = 0, global_stores = 0;              // added to memory, by asynchronous kernels 16 bytes a thread; stored
  int outputs_staged = 0, outputs_fetched = 0;  // through shared memory, after the steps
  int spills_loaded = 0, spills_stored = 0, spill_waits = 0;
  int instructions = 0;  // of all kinds in a step; 0: not known
};

// The mean one of `steps` steps of the launch.
WarpStep warp_step(const LaunchAtSm& launch, double steps);

}  // namespace tilescope
