// Why a schedule may not partition an axis differently, for each kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "derive/nests/named.h"

namespace tilescope {

enum class Asked { whole, group, stream, parts };

struct WhyNot {
  std::string kernel;
  bool allowed = false;
  std::string loops;   // the kernel's loops with the axis partitioned as asked
  std::string reason;  // the rule that forbids it, or the consequence of doing it
};

// The answer for every kernel of the schedule that has the axis. A group over a contracted axis that must leave partial
// results is reported as such.
std::vector<WhyNot> why_not(const Schedule& schedule, AxisId axis, Asked asked);

// Why the schedule's own loops are illegal on its diagram: "kernel: rule". Empty: they are legal.
std::string illegal(const Schedule& schedule);

// An axis by its name or by the tile parameter that cuts it ("kv" for x).
std::optional<AxisId> axis_by_name(const Schedule& schedule, const std::string& name);

}  // namespace tilescope
