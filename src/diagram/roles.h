// The role of every axis in every operator (pyncd's TILE, REPEAT, REDUCE, LOCAL).
#pragma once

#include <string>
#include <vector>

#include "diagram/diagram.h"

namespace tilescope {

enum class AxisRole {
  absent,  // the operator does not see the axis
  tile,    // woven over: every input that it has and the output carry it
  repeat,  // woven over, and some input lacks it: that input is copied to every index
  reduce,  // folded
  local,   // consumed and produced whole: a softmax before it is expanded
};
std::string to_string(AxisRole role);

AxisRole role_of(const Diagram& diagram, const Operator& op, AxisId axis);

// Inputs that lack an axis of the output: the only source of redundant transfers.
std::vector<ArrayId> repeated_inputs(const Diagram& diagram, const Operator& op, AxisId axis);

}  // namespace tilescope
