// Bytes that no schedule can avoid.
#pragma once

#include "predict/point/point.h"

namespace tilescope {

// Every input value that the mask leaves visible read once, every stored output written once; what passes between
// launches is not compulsory.
std::int64_t compulsory_bytes(const Plan& plan, const Point& point);

}  // namespace tilescope
