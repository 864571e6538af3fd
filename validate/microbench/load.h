// The GPU under one kind of load for long enough that its power settles. No CUDA types.
#pragma once

#include <functional>
#include <string>

#include "validate/measure/nvml.h"

namespace tilescope::validate {

struct LoadResult {
  double watts = 0, clock_hz = 0;
  double operations_per_second = 0;
};

// `enqueue` puts one kernel of `operations` operations on the default stream and should take 2 to 20 ms; `clock_hz` is
// asked for after the last one. The load lasts `seconds`, of which the first quarter warms up.
LoadResult run_load(const Nvml& nvml, double seconds, double operations, const std::function<void()>& enqueue,
                    const std::function<double()>& clock_hz);

// Power with nothing to do.
double idle_watts(const Nvml& nvml, double seconds);

}  // namespace tilescope::validate
