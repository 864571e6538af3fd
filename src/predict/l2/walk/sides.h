// On which side of the L2 a launch's blocks run.
#pragma once

#include <cstdint>
#include <vector>

#include "hardware/profile.h"

namespace tilescope {

// The partition on whose side block i of a launch of `blocks` starts, for i below the number of units, as measured
// (`levels.l2.groups` of a profile): a launch fills groups of units one after the other, so that neighbours mostly
// share a side; one of fewer blocks than units fills the first group and deals the others their parts in turns, one to
// a pair of units before the second of a pair gets one. Block i + units follows block i. Where nobody measured it: a
// sequence without a period, since one with a period would put all blocks of a head on one side where heads take turns.
std::vector<int> sides_of_blocks(const HardwareProfile& hardware, int partitions, std::int64_t blocks);

}  // namespace tilescope
