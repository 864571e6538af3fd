// One point on GPUs x formats x kernels.
#pragma once

#include "tilescope/types.h"

namespace tilescope::api {

// A row each kernel or schedule, GPU and format, with the keys of `tilescope compare --format json`. The option
// "hardware" takes a list, as in {"hardware", "h100_sxm,h200_sxm"}; "dtype", "kernel" and "schedule" may be repeated.
Table compare(const Options& options);

}  // namespace tilescope::api
