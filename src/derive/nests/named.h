// Finds a named schedule (models/schedules) in the enumeration.
#pragma once

#include <string>
#include <vector>

#include "derive/nests/nests.h"

namespace tilescope {

struct NamedKernel {
  std::string island;
  FusedKernel kernel;
  AxisLoops loops;
};

struct NamedPoint {
  // Islands that run operators; merging and converting kernels follow from their loops.
  std::vector<NamedKernel> kernels;
  std::vector<ArrayId> omitted;  // outputs that no island stores
};

// The schedule's islands over the primitives of its diagram. Loops are in the enumeration's order.
NamedPoint locate(const Primitives& primitives, const Schedule& schedule);

// The first kernel whose loops break a rule, and the rule: "kernel: rule". Empty: all are legal.
std::string broken_rule(const Primitives& primitives, const NamedPoint& point);

// Position in Fusions::fusions of the fusion with exactly these kernels; -1: none.
int find_fusion(const Fusions& fusions, const NamedPoint& point);

}  // namespace tilescope
