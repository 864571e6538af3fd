// A kernel's output against the double-precision oracle.
#pragma once

#include "kernels/kernel_api.h"
#include "records/record.h"

namespace tilescope::validate {

// Checks that every element of O was written with a finite value, and compares O with the oracle: all of it while that
// is cheap, else windows of consecutive rows of some heads, the first and last rows among them. (The kernels' own tests
// check the log-sum-exp.) Each element has its own tolerance, from the rounding of the number format and the size of
// what was added up; the result holds error and tolerance of the element that comes nearest to its own, or passes it.
Correctness check_output(const kernels::Problem& problem, const kernels::Variant& variant);

}  // namespace tilescope::validate
