#include "predict/grid/issue_order.h"

#include <algorithm>
#include <optional>

namespace tilescope {

Nest in_issue_order(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto rank = [&](const BoundLoop& loop) -> int {
    if (!loop.group) return 100;
    const Axis& own = diagram.axes[index(loop.axis)];
    const std::optional<Extent> size =
        own.chunks_of ? diagram.axes[index(*own.chunks_of)].extent : own.extent;  // parts of the keys are keys
    const GridDimension dimension = size == Extent::q_len    ? GridDimension::q
                                    : size == Extent::kv_len ? GridDimension::kv
                                    : size == Extent::batch  ? GridDimension::batch
                                                             : GridDimension::heads;
    const auto& order = bound.how.block_order;
    const auto found = std::find(order.begin(), order.end(), dimension);
    return static_cast<int>(order.end() - found);  // fastest first in the descriptor, outermost first in a nest
  };
  Nest nest = bound.nest;
  const AxisId parts =
      nest.chunked.present() ? nest.loops[static_cast<std::size_t>(nest.chunked.outer)].axis : AxisId{};
  // A stable insertion sort: std::stable_sort would allocate.
  std::array<int, max_loops> ranks{};
  bool sorted = true;
  for (std::size_t i = 0; i < nest.loop_count; ++i) {
    const int own = rank(bound.nest.loops[i]);
    std::size_t place = i;
    for (; place > 0 && ranks[place - 1] > own; --place) ranks[place] = ranks[place - 1];
    ranks[place] = own;
    if (place == i) continue;
    sorted = false;
    const auto first = nest.loops.begin();
    std::rotate(first + static_cast<std::ptrdiff_t>(place), first + static_cast<std::ptrdiff_t>(i),
                first + static_cast<std::ptrdiff_t>(i) + 1);
  }
  if (sorted) return nest;
  if (nest.guarded()) nest.find_guarded_pair();
  for (std::size_t i = 0; i < nest.loop_count; ++i) {
    const AxisId axis = nest.loops[i].axis;
    if (nest.chunked.present() && axis == parts) nest.chunked.outer = static_cast<int>(i);
    if (nest.chunked.present() && axis == nest.chunked.of) nest.chunked.inner = static_cast<int>(i);
  }
  return nest;
}

}  // namespace tilescope
