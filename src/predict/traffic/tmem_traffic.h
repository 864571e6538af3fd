// Terms at tensor memory: accumulators of matrix instructions, and what threads load from and store to it.
#pragma once

#include "predict/traffic/terms.h"

namespace tilescope {

// Of a launch that accumulates in tensor memory (point/tensor_memory.h); else none. Matrix instructions write fp32
// results and, but for the first of each sum, read them, and read operand A where threads have put it there. Threads
// load each result once it is complete, store the operands that they make of it, and load and store accumulators that
// a step changes. No GPU's counters were set beside these bytes.
Terms tmem_terms(const BoundIsland& bound, std::pmr::memory_resource* memory);

}  // namespace tilescope
