// A program for what a warp does in a step, in the text of steps.zst: for kernels whose machine code is not known.
#pragma once

#include <string>

#include "predict/sm/warp_step.h"

namespace tilescope {

// Sections "step", "start" and "end" (simulate/step_programs.h), in the order in which nvcc 13.0 puts instructions of
// such kernels: what follows is read off its code, no number is chosen by a measurement. `mma_chain`: clocks from a
// product of mma.sync to the next one that adds to its result.
std::string lowered_step(const WarpStep& step, double mma_chain);

}  // namespace tilescope
