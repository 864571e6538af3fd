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
// profile; a group's units are numbered in a row). Whole rounds of all units are started at once, as many as fit: group
// by group, from group 1 + `start` on (a device goes on, from launch to launch, where it was) and round again, each
// time a block to every unit of the group. The first group comes before all others, and before them again for its next
// round as soon as it can. Blocks that make no whole round are dealt apart (shares_of_groups). Where nobody measured
// it: round the units, one a unit.
std::vector<std::int32_t> units_of_first_blocks(const HardwareProfile& hardware, std::int64_t blocks,
                                                std::int64_t resident, std::int64_t start = 0);

}  // namespace tilescope
