// Finds the loop of a kernel that computes gradients of attention.
#pragma once

#include <optional>

#include "kernel/describe/attention_loop.h"

namespace tilescope {

// S and dP start anew in each pass and are one score for each exponential of a thread; results of earlier passes are
// added to. A loop over queries owns keys and adds to dK and dV; a loop over keys owns queries and adds to dQ. What
// else starts anew are sums of dQ over the owned keys (Dao 2023, algorithm 2). Sizes must agree: the depth of the
// results is what a pass streams, their rows are what the unit owns, and both together have the scores.
std::optional<AttentionLoop> backward_loop(const CodeSummary& code);

}  // namespace tilescope
