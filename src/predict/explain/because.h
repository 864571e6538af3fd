// The loops that cause a term.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

// One line a loop, outermost first: whether it cuts the array into tiles, repeats it or comes back to it.
std::vector<std::string> because(const Plan& plan, const Point& point, const Term& term);

}  // namespace tilescope
