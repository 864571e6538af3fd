// Rewrites that a nest asks for: a fold in independent chunks leaves partial results that another island merges, and a
// result that the nest comes back to is kept at the outer level together with its running state.
#pragma once

#include <string>

#include "schedule/folds.h"

namespace tilescope {

// Turns the group loop at `loop` of the island, over an axis that results fold over, into a loop over chunks: adds the
// axis of chunks to the schedule's diagram, and partial results with it ("O_part"), which the island stores instead.
void split_fold(Schedule& schedule, const Primitives& primitives, Island& island, std::size_t loop);

// Adds the operator that merges the partial results of `parts`; returns its position. Its axis of chunks is streamed by
// whoever runs it.
int add_merge(Schedule& schedule, const Island& parts);

// An array of another width that `result` is added up in; and the operator that rounds it to `result` at the end.
ArrayId add_accumulator(Schedule& schedule, ArrayId result, const std::string& dtype_key);
int add_conversion(Schedule& schedule, const Stored& stored);

// Results that the island's nest comes back to are stored with their running state, and what can be finished from the
// state only when all is complete (the log-sum-exp) is not stored.
void keep_state(Schedule& schedule, const Primitives& primitives, Island& island);

}  // namespace tilescope
