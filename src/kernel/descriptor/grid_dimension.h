// Which dimension of the grid of blocks a loop over an axis is.
#pragma once

#include "diagram/diagram.h"
#include "kernel/descriptor/kinds.h"

namespace tilescope {

// Parts of the keys are keys; axes of no other extent count as heads.
inline GridDimension grid_dimension(const Diagram& diagram, AxisId axis) {
  const Axis& own = diagram.axes[index(axis)];
  const std::optional<Extent> size = own.chunks_of ? diagram.axes[index(*own.chunks_of)].extent : own.extent;
  if (size == Extent::q_len) return GridDimension::q;
  if (size == Extent::kv_len) return GridDimension::kv;
  return size == Extent::batch ? GridDimension::batch : GridDimension::heads;
}

}  // namespace tilescope
