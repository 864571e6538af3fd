// Tiles that a block moves before its first product and after its last one.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// s in which a block moves tiles that no stream moves, before its first product and after its last one, while all SMs
// do the same: blocks of one length stay in phase, so products of others hide little of it.
struct AroundProducts {
  double load = 0, store = 0;
};
AroundProducts around_products(const BoundIsland& bound);

}  // namespace tilescope
