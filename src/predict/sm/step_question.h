// What a simulated SM is asked for a launch's step.
#pragma once

#include <optional>

#include "predict/point/bound_island.h"
#include "predict/prediction.h"
#include "simulate/step_programs.h"

namespace tilescope {

// Empty: the machine code of the launch's steps is not known. `local`: of the launch.
std::optional<StepQuestion> step_question(const BoundIsland& bound, std::int64_t resident, CopySource source,
                                          const LocalTraffic& local = {});

}  // namespace tilescope
