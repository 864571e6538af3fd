// Messages about many files, cut to what a person reads.
#pragma once

#include <vector>

#include "base/error.h"

namespace tilescope::validate {

// The findings of the first ten files: the first of each where there are several files, the first ten of a single one;
// then how many others there are. A finding about "FILE.jsonl:LINE" is one about that file.
std::vector<Diagnostic> few_findings(std::vector<Diagnostic> findings);

}  // namespace tilescope::validate
