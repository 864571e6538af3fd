// Which instructions compute what an instruction reads.
#pragma once

#include <vector>

#include "kernel/code/flow/blocks.h"

namespace tilescope {

struct Dependency {
  std::size_t producer = 0;  // index of an instruction of the section
  RegisterSpan registers{};  // that it may have written last
};

// By instruction: the producers of its registers on all ways to it, ascending. A write under a predicate leaves earlier
// producers in place. Values from before a kernel or a function have none.
std::vector<std::vector<Dependency>> dependencies_of(const CodeSection& section, const FlowGraph& flow);

}  // namespace tilescope
