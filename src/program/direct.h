// A diagram's operators evaluated one after the other over whole arrays: what a program's results are compared with.
// Shares nothing with programs, streams or primitives.
#pragma once

#include <map>
#include <random>
#include <string>

#include "diagram/workload.h"
#include "program/numeric.h"

namespace tilescope {

using Memory = std::map<std::string, Values, std::less<>>;

// Values in [0.25, 1] for every input; a view has its source's first columns.
Memory random_inputs(const Diagram& diagram, const Coordinates& sizes, std::mt19937_64& random);

// Adds every array that an operator writes. Positions that the mask leaves out are not folded; what stands there in
// arrays with both guarded axes has no meaning.
void evaluate_directly(const Diagram& diagram, const Coordinates& sizes, const Mask& mask, Memory& memory);

// Whether the mask leaves the point to an array with these axes; true for arrays that lack a guarded axis.
bool seen(const Diagram& diagram, const std::vector<AxisId>& axes, const Coordinates& sizes, const Mask& mask,
          const Coordinates& point);

}  // namespace tilescope
