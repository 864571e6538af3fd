// Terms between L2 and the multiprocessors: tiles as the loops move them, zeros, block masks, spilled registers.
#pragma once

#include "predict/traffic/spills.h"
#include "predict/traffic/terms.h"

namespace tilescope {

Terms l2_terms(const BoundIsland& bound, const SpillTraffic& spills, std::pmr::memory_resource* memory);

}  // namespace tilescope
