// Partial results kept as outputs: finds the smallest section of a witness' finaliser.
#pragma once

#include <optional>

#include "stream/witness.h"

namespace tilescope {

// Searches sections that set every state variable to an output of its shape, 1 or 0, and keeps one only if it is proven
// that (1) finalising it gives back the outputs and (2) outputs of merged sections are the outputs of the merged
// states. (1) alone is not enough: a mean is its own section with count 1, but means do not merge. Empty when no
// section carries fewer values than the state, or beyond 4096 candidates or 2000 characters.
std::optional<CompactState> compact_state(const Witness& witness);

}  // namespace tilescope
