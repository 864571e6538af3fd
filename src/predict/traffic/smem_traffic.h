// Terms at shared memory: fills from L2, operands of the products, and what passes through on its way.
#pragma once

#include "predict/traffic/terms.h"

namespace tilescope {

// Of a kernel without matrix instructions: transpositions only, for where its tiles lie is not modelled.
Terms smem_terms(const BoundIsland& bound, std::pmr::memory_resource* memory);

}  // namespace tilescope
