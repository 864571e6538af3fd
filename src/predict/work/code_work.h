// Operations of a launch from the machine code of the built instance.
#pragma once

#include "predict/point/bound_island.h"
#include "predict/prediction.h"

namespace tilescope {

void add_code_work(const BoundIsland& bound, const InstanceCode& code, Work& work);

}  // namespace tilescope
