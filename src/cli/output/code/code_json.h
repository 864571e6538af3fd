// A summary of machine code as JSON: the keys `code` and `bounds` of tilescope/code/1.
#pragma once

#include "kernel/code/summary/code_summary.h"
#include "loopbounds/loop_bounds.h"
#include "predict/explain/json.h"

namespace tilescope::cli {

// `instructions`: adds each instruction with its registers and issue fields.
Json code_json(const CodeSummary& code, bool instructions);

// The key `bounds`. `instructions`: adds when each instruction of a pass issues and what it waits for.
Json bounds_json(const CodeSummary& code, const KernelBounds& bounds, bool instructions);

}  // namespace tilescope::cli
