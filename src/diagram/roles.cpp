#include "diagram/roles.h"

#include <array>

namespace tilescope {

std::string to_string(AxisRole role) {
  static const std::array<std::string, 5> names{"-", "tile", "repeat", "reduce", "local"};
  return names[static_cast<std::size_t>(role)];
}

std::vector<ArrayId> repeated_inputs(const Diagram& diagram, const Operator& op, AxisId axis) {
  std::vector<ArrayId> lacking;
  for (const ArrayId id : op.inputs)
    if (!diagram.array(id).has(axis)) lacking.push_back(id);
  return lacking;
}

AxisRole role_of(const Diagram& diagram, const Operator& op, AxisId axis) {
  if (op.along == axis) return AxisRole::local;
  const std::vector<ArrayId> lacking = repeated_inputs(diagram, op, axis);
  if (diagram.array(op.outputs.front()).has(axis)) return lacking.empty() ? AxisRole::tile : AxisRole::repeat;
  return lacking.size() < op.inputs.size() ? AxisRole::reduce : AxisRole::absent;
}

}  // namespace tilescope
