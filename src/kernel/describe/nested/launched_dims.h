// The head dimensions of a launch, where the code of its kernel leaves them to it.
#pragma once

#include <optional>
#include <utility>

#include "kernel/code/trace/traced_launch.h"
#include "kernel/code/trace/word.h"
#include "kernel/describe/facts.h"

namespace tilescope {

struct LaunchedDims {
  std::optional<std::pair<std::int64_t, std::int64_t>> dims;  // of Q and K, and of V
  VaryingWords varies = 0;                                    // what the answer depends on
};
struct LaunchedRows {
  bool left_out = false;
  VaryingWords varies = 0;
};

struct LaunchedEnds {
  bool differ = false;
  VaryingWords varies = 0;
};

struct LaunchedStages {
  std::int64_t stages = 0;  // 0: not known
  VaryingWords varies = 0;
};

// Carries out the code of a thread: passes of the loop that sums scores give a range, and one integer among the
// parameters lies in it; the values have the same, as far as a block has columns for them. Nothing: the thread does not
// come to that loop, or several integers lie in the range.
LaunchedDims launched_head_dims(const CodeSummary& code, const TracedLaunch& launch, const AttentionFacts& facts);

// Whether no warp of the launch's first block comes to the stores of a number a row that the code has. Only where the
// code of each warp can be followed to its end.
LaunchedRows leaves_out_rows(const CodeSummary& code, const TracedLaunch& launch);

// Tiles of keys and values in shared memory, from the places to which a thread of the first block copies those that it
// copies to again. Nothing: no place is copied to twice.
LaunchedStages stages_of_copies(const CodeSummary& code, const TracedLaunch& launch, std::int64_t bytes_of_pass);

// Whether warpgroups of the first or the last block execute a matrix instruction a different number of times, because
// each of them ends at the last tile of keys that its own rows see.
LaunchedEnds ends_of_warpgroups(const CodeSummary& code, const TracedLaunch& launch);

}  // namespace tilescope
