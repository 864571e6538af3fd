// Gradients of a backward kernel against double precision.
#pragma once

#include "kernels/kernel_api.h"
#include "records/record.h"

namespace tilescope::validate {

// Checks that every element of dQ, dK and dV was written with a finite value, and compares some rows of each, spread
// over heads and lengths, with gradients in double precision. O and L are the kernel's own inputs.
// Tolerances and result as those of check_output.
Correctness check_gradients(const kernels::Problem& problem, const kernels::Variant& variant);

}  // namespace tilescope::validate
