// Every schedule that is printed runs: its programs are executed on small ragged sizes, their results are compared with
// the diagram's operators, and what they move with the symbolic counts.
#pragma once

#include <string>
#include <vector>

#include "derive/derivation.h"
#include "program/check.h"

namespace tilescope {

// Empty: all is well. One line otherwise: the kernel, the sizes and what differs.
std::string wrong_in(const Diagram& diagram, const std::vector<Schedule>& kernels, const Mask& mask, int cases = 2,
                     bool alone = false);

}  // namespace tilescope
