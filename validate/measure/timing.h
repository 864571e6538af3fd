// Times by CUDA events, without counters: cold (L2 flushed before each) and steady (back to back).
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernel_api.h"
#include "records/record.h"
#include "validate/measure/device_work.h"
#include "validate/measure/nvml.h"

namespace tilescope::validate {

struct Timing {
  std::vector<double> cold, steady;  // seconds of the whole sequence of launches, one a sample
  std::optional<Clocks> clocks;      // read while the steady samples run
};

// cold: each sample is one run after a flush. steady: after 0.2 s of warm-up, samples follow each other
// without a pause; runs shorter than 200 us are timed in batches that long, a sample being the batch's mean. Launches
// that may be shorter than the host needs to launch one are queued behind a wait, so that their time is the GPU's.
Timing time_launches(const std::vector<kernels::Launch>& launches, const L2Flush& flush, int cold_repeats,
                     int steady_repeats, const Nvml& nvml);

}  // namespace tilescope::validate
