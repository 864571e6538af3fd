// Shapes and formats that matrix instructions have, from the PTX ISA.
#pragma once

#include <optional>
#include <string>

#include "kernel/descriptor/descriptor.h"

namespace tilescope {

// What the path's instruction would have to be instead, for a shape that it does not have; empty: it has the shape, or
// the path names no instruction.
std::string expected_shape(TensorPath path, const MmaShape& shape);

// The first compute capability that has the path's instruction in this shape; 0: any.
double least_capability(TensorPath path, const MmaShape& shape);
// The same for operands of one format; nothing: no GPU has it.
std::optional<double> least_capability(TensorPath path, const MmaShape& shape, Format format);

}  // namespace tilescope
