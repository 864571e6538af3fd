// What an island folds, and which of its results its loops come back to.
#pragma once

#include <vector>

#include "diagram/primitives.h"
#include "schedule/schedule.h"

namespace tilescope {

// Positions in Primitives::list that the island's operators stand for, in order.
std::vector<int> primitives_of(const Primitives& primitives, const Island& island);

// Folds of the island over `axis` that `result` depends on and that it passes on the way: for attention's O along the
// keys, the row maximum and the row sum. They are the running state that O needs beside itself until it is complete.
std::vector<ArrayId> state_of(const Primitives& primitives, const Island& island, ArrayId result, AxisId axis);

// Axes that `result`, as this island computes it, is folded over: none of them is an axis of it.
std::vector<AxisId> folded_axes(const Primitives& primitives, const Island& island, ArrayId result);

// Axes whose folds must be complete before anything touches `array`: what uses it, or makes it, follows from finished
// folds over them. An output gate of attention awaits the keys. A stream over such an axis does not repeat the array.
std::vector<AxisId> awaited_axes(const Primitives& primitives, const Island& island, ArrayId array);

// Whether the nest comes back to a tile of `array`, which is folded over `axis`: the axis is spread over blocks, or a
// loop inside the axis' stream moves the tile.
bool comes_back(const Diagram& diagram, const Island& island, ArrayId array, AxisId axis);
bool comes_back(const Diagram& diagram, const Island& island, const Array& array, AxisId axis);

}  // namespace tilescope
