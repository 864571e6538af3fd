// Which kernels are not this project's own.
#pragma once

#include "predict/point/point.h"

namespace tilescope {

// True when the kernel's descriptor stands in a folder "third_party".
inline bool is_third_party(const Plan& plan) {
  return std::filesystem::path(plan.kernel.file).parent_path().filename() == "third_party";
}

}  // namespace tilescope
