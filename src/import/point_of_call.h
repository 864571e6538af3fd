// The point of a call of an operator: sizes, mask and formats from its arguments.
#pragma once

#include <string>

#include "import/operators.h"
#include "request/options.h"

namespace tilescope::imported {

struct CallPoint {
  Options options;      // point options, as a user would give them
  std::string problem;  // why the arguments give none; empty: they do
};

// `given`: what the arguments may lack, dtype and mask.
CallPoint point_of_call(const ToolOperator& call, const AttentionOperator& kind, const Options& given);

// Equal for calls of the same operator with the same arguments.
std::string key_of(const ToolOperator& call);

}  // namespace tilescope::imported
