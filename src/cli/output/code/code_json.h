// A summary of machine code as JSON: the key `code` of tilescope/code/1.
#pragma once

#include "kernel/code/summary/code_summary.h"
#include "predict/explain/json.h"

namespace tilescope::cli {

// `instructions`: adds each instruction with its registers and issue fields.
Json code_json(const CodeSummary& code, bool instructions);

}  // namespace tilescope::cli
