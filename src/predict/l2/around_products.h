// Tiles that a block loads before its first product.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// s in which a block loads tiles that no stream moves, before its first product, while all SMs do the same: blocks of
// one length stay in phase, so products of others hide little of it.
double load_around_products(const BoundIsland& bound);

}  // namespace tilescope
