// Finds a loop over keys whose products stand in loops inside of it, or of which other warps compute parts.
#pragma once

#include "kernel/describe/attention_loop.h"

namespace tilescope {

// The loop has exponentials. The scores are the product that starts anew in each of its passes, in the loop or in one
// inside of it over the head dimension; the values add to what earlier passes left. Loops of other warps without
// exponentials, which take P from shared memory, add to further columns of the values. How warps share the products'
// tiles follows from where each warp reads its first operands.
FoundLoop nested_loop(const CodeSummary& code);

}  // namespace tilescope
