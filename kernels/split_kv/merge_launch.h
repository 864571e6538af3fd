// The launch of `combine`, whose blocks may start while the last blocks of `partial` are still running.
#pragma once

#include "common/launch.h"
#include "split_kv/split_kv.h"

namespace tilescope::kernels::split_kv {

// `combine` or, for few parts, `combine_few`; both write rows of d_v values. Its blocks can become resident once every
// block of the previous kernel has begun its last step (griddepcontrol.launch_dependents), and then wait for that
// kernel's results (griddepcontrol.wait).
Launch merge_launch(const void* combine, const void* combine_few, int d_v, const CombineParams& params);

}  // namespace tilescope::kernels::split_kv
