// Runs one kind of load on the GPU until its power is steady. No CUDA types.
#pragma once

#include <functional>
#include <string>

#include "validate/measure/nvml.h"

namespace tilescope::validate {

struct LoadResult {
  double watts = 0, clock_hz = 0;
  double operations_per_second = 0;
};

// `enqueue` puts one kernel of `operations` operations on the default stream; it should run for 2 to 20 ms. `clock_hz`
// is called after the last kernel. The load lasts `seconds`; the first quarter is warm-up.
LoadResult run_load(const Nvml& nvml, double seconds, double operations, const std::function<void()>& enqueue,
                    const std::function<double()>& clock_hz);

// Power of the idle GPU.
double idle_watts(const Nvml& nvml, double seconds);

}  // namespace tilescope::validate
