// Executes the programs of a schedule on small ragged sizes. Compares their results with the diagram's operators, and
// the values that they move with the symbolic counts. A schedule is printed only after this check.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "derive/derivation.h"
#include "program/check.h"

namespace tilescope {

// Returns an empty text if everything agrees, otherwise one line with the kernel, the sizes and the difference.
std::string wrong_in(const Diagram& diagram, const std::vector<Schedule>& kernels, const Mask& mask, int cases = 2,
                     bool alone = false);

// Why the schedule's programs do not compute its diagram's operators on small random inputs, without a mask and, where
// the diagram may be masked, causal. Empty: they compute them. `reason` of NoProgram: a kernel has no program.
std::variant<std::string, NoProgram> wrong_result_of(const Schedule& schedule);

}  // namespace tilescope
