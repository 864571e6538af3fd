// Many points: the cross product of axes.
#pragma once

#include "tilescope/types.h"

namespace tilescope::api {

// A row each point, the first axis fastest, with the columns of `tilescope sweep --format csv`. The option "axis" is
// given once each axis, as in {"axis", "q_len=1k:16k:x2"}.
Table sweep(const Options& options);

}  // namespace tilescope::api
