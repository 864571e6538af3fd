// Tests only: the shipped models, and the kernel that computes a whole diagram.
#pragma once

#include <string>
#include <vector>

#include "derive/nests/fusions.h"

namespace tilescope {

inline std::string models() { return std::string(TILESCOPE_SOURCE_DIR) + "/models"; }

// The kernel that computes every output of the diagram from its inputs.
inline FusedKernel whole_kernel(const Primitives& primitives) {
  std::vector<ArrayId> outputs;
  for (std::size_t a = 0; a < primitives.diagram.arrays.size(); ++a)
    if (primitives.diagram.arrays[a].role == ArrayRole::output)
      outputs.push_back(static_cast<ArrayId>(static_cast<int>(a)));
  return kernel_for(primitives, outputs, {});
}

}  // namespace tilescope
