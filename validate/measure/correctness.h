// A kernel's output against the double-precision oracle.
#pragma once

#include "kernels/kernel_api.h"
#include "records/record.h"

namespace tilescope::validate {

// Checks that every element of O was written with a finite value, and compares O with the oracle: all of O for small
// problems, else windows of consecutive rows of some heads, including the first and last rows. (The kernels' own tests
// check the log-sum-exp.) Each element has its own tolerance, computed from the rounding of the number format and the
// magnitude of the added terms. The result holds the error and tolerance of the element with the largest ratio of the
// two.
Correctness check_output(const kernels::Problem& problem, const kernels::Variant& variant);

}  // namespace tilescope::validate
