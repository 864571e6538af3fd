// The merge of partial results in primitives.
#pragma once

#include "program/construct/build.h"

namespace tilescope {

// The primitives with those of the island's merge: each fold of the island that leaves parts, once more over the parts.
// The value of a fold over all parts is the fold of what each part adds: its state, which the kept outputs determine
// (CompactState), repaired to the state of all (merged_value). A merge is then streamed like any other fold. Throws
// NoProgram where the parts do not determine their state.
Primitives with_merges(const Schedule& schedule, const Primitives& primitives, int island);

}  // namespace tilescope
