// Terms at the register boundary.
#pragma once

#include "predict/traffic/terms.h"

namespace tilescope {

// Register traffic has no counter; it is defined as executed instructions by type times operand widths, on both the
// predicted and the measured side: a matrix instruction reads A, B and the fp32 accumulator and writes the accumulator;
// an FMA reads three 4-byte registers a thread, add and multiply two, an exponential one, each writes one. `smem`: the
// launch's terms at shared memory, from which operands come; `tmem`: at tensor memory, from and to which threads move
// values in place of operands and accumulators.
Terms register_terms(const BoundIsland& bound, const Work& work, const Terms& smem, const Terms& tmem,
                     std::pmr::memory_resource* memory);

}  // namespace tilescope
