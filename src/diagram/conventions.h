// What is read off a diagram by the names that its author gave: its pass and the keys of its formats.
#pragma once

#include <string>
#include <vector>

#include "diagram/diagram.h"
#include "diagram/pass.h"

namespace tilescope {

// backward for a diagram that starts from the gradient of the output (dO is an input), else forward.
Pass pass_of(const Diagram& diagram);

// The --dtype keys of the diagram's arrays, each once, in order of appearance.
std::vector<std::string> dtype_keys(const Diagram& diagram);

}  // namespace tilescope
