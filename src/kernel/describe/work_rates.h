// Thread operations of a kernel by pipe, as rates of a descriptor.
#pragma once

#include "kernel/describe/description.h"

namespace tilescope {

// One pipe a value: "xu", "{per_score: 1, per_thread_step: 2}". Instructions of a pass are split into whole operations
// a score and the rest a thread; those outside the loop are spread over the rows of a unit.
// `repeats`: units that each compute the same scores.
std::vector<DescribedValue> work_rates(const AttentionFacts& facts, std::int64_t repeats);

}  // namespace tilescope
