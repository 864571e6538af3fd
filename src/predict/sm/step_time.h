// Clocks of one multiprocessor. What a block's step asks of each unit follows from the counts and the descriptor; how
// steps of several warpgroups and blocks overlap follows from mean-value analysis of a closed queueing network: every
// group that goes at its own pace is a customer that visits the matrix path, the special-function, the fp32 and the
// integer pipe in turn (Reiser and Lavenberg, J. ACM 27(2), 1980). Rates are microbenchmarks' (hardware/measured.h).
#pragma once

#include <array>

#include "predict/grid/placement.h"
#include "predict/point/bound_island.h"

namespace tilescope {

// What one step of a block keeps busy, in clocks of the unit, were each alone and at full rate.
struct StepDemand {
  double tensor = 0;      // matrix instructions
  double smem = 0;        // operands and fills; wavefronts, where threads multiply
  double products = 0;    // matrix instructions, each product no faster than its operands come from shared memory
  double bulk = 0;        // of `smem`, what the copy engine brings, whatever the warps do meanwhile
  double copies = 0;      // of `smem`, what the warps that multiply copy or store there themselves
  double xu = 0;          // special functions
  double fma_scores = 0;  // fp32 arithmetic by scores and rows, which runs under the special functions of the same warp
  double fma_outputs = 0;     // the same by elements of results, and by scores that a later product makes
  double alu = 0;             // maxima and conversions
  double threads = 0;         // addresses, loops: of each thread, beside its products
  double issue = 0;           // warp instructions that a scheduler issues for all that
  double issue_products = 0;  // of `issue`, mma.sync and the ldmatrix that feed them
  double memory = 0;          // the unit's share of bytes from memory or L2
  double local = 0;           // spilled registers on their way between the unit and the L2
  double added = 0;           // results that threads of wgmma add to memory, on their way to the L2
  std::array<double*, 15> all() {
    return {&tensor, &smem,    &products, &bulk,           &copies, &xu,    &fma_scores, &fma_outputs,
            &alu,    &threads, &issue,    &issue_products, &memory, &local, &added};
  }
};

// Where an island finds what it loads: all of it in memory, as when it runs alone with an empty L2; in the L2 what
// earlier islands have written; or all of it there, run after run of what the L2 has room for.
enum class Inputs { in_memory, in_sequence, in_l2 };

using Faster = std::array<double, lever_count>;  // by Lever: factors of each rate; latencies are divided by theirs
inline constexpr Faster as_it_is{1, 1, 1, 1, 1, 1, 1, 1, 1};

struct SmStep {
  StepDemand demand;
  BlockClocks clocks;                        // a block's step, by how many blocks share the unit
  std::array<double, most_resident> work{};  // the same where it never waits for a tile's copy
  double latency = 0;                        // clocks of a step in which a block that is alone on the unit does nothing
  double once = 0;                           // clocks before the first step of a launch
  double alone = 0;                          // clocks more that a block takes where the L2 is empty
  double lead = 0, trail = 0;  // clocks of a block before its first copy is asked for, and after its last step
};

// Whether the profile lacks a rate that the island's model needs.
bool missing_sm_rate(const BoundIsland& bound, const IslandPrediction& island);

// The mean step of an island with `steps` steps in all, and what its blocks take beside them. Needs every rate
// (missing_sm_rate).
SmStep sm_step(const BoundIsland& bound, const IslandPrediction& island, double steps, const Faster& faster = as_it_is,
               Inputs inputs = Inputs::in_sequence);

}  // namespace tilescope
