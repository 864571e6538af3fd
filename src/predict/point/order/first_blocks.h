// On which unit the device starts each of a launch's first blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/profile.h"

namespace tilescope {

// How many of `blocks` blocks, no more than units, each group takes: the first is filled, the others get one in turn,
// from the smallest on, one to a pair of units before the second of a pair gets one.
std::vector<std::int64_t> shares_of_groups(const std::vector<UnitGroup>& groups, std::int64_t blocks);

// The unit of block i, for i below min(blocks, resident * units), as microbenchmarks found it (`levels.l2.groups` of a
// profile; a group's SMs are numbered in a row). Whole rounds: groups take turns, starting at group 1 + `start` (the
// device keeps its position between launches); each turn gives one block to every SM of the group. Group 0 is served
// first, and again as soon as it has a free place. The last, partial round is distributed by shares_of_groups. Where it
// was not measured: one block an SM, in the order of their numbers.
std::vector<std::int32_t> units_of_first_blocks(const HardwareProfile& hardware, std::int64_t blocks,
                                                std::int64_t resident, std::int64_t start = 0);

}  // namespace tilescope
