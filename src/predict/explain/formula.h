// Terms in words: the formula of their bytes and the loops that cause them.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

// The formula of a term's bytes in the sizes and tiles of the schedule: "ceil(q_len/128) * batch * kv_len x 2 B".
std::string formula(const Plan& plan, const Point& point, const Term& term);

}  // namespace tilescope
