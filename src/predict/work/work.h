// Operations of one launch: tensor FLOP of whole tiles, exponentials, and thread operations by pipe.
#pragma once

#include "predict/point/bound_island.h"
#include "predict/prediction.h"

namespace tilescope {

// Throws CountOverflow.
Work work_of(const BoundIsland& bound);

// Multiplications of a product's whole tiles; `op`: position in Diagram::operators.
std::int64_t product_points(const BoundIsland& bound, int op);

}  // namespace tilescope
