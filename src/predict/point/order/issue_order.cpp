#include "predict/point/order/issue_order.h"

#include <algorithm>

#include "predict/point/order/block_order.h"

namespace tilescope {

IssueOrder issue_order(const BoundIsland& bound) {
  const auto rank = [&](const BoundLoop& loop) -> int {
    if (!loop.group) return 100;
    const auto& given = bound.how.block_order;
    const auto found = std::find(given.begin(), given.end(), BlockOrder::dimension_of(bound, loop));
    return static_cast<int>(given.end() - found);  // fastest first in the descriptor, outermost first in a nest
  };
  // A stable insertion sort: std::stable_sort would allocate.
  IssueOrder order;
  std::array<int, max_loops> ranks{};
  for (int i = 0; i < static_cast<int>(bound.nest.loop_count); ++i) {
    const int own = rank(bound.nest.loops[static_cast<std::size_t>(i)]);
    auto place = static_cast<std::size_t>(i);
    for (; place > 0 && ranks[place - 1] > own; --place)
      ranks[place] = ranks[place - 1], order.loops[place] = order.loops[place - 1], order.as_bound = false;
    ranks[place] = own, order.loops[place] = i;
  }
  return order;
}

Nest in_issue_order(const BoundIsland& bound) {
  Nest nest = bound.nest;
  const IssueOrder order = issue_order(bound);
  if (order.as_bound) return nest;
  for (std::size_t i = 0; i < nest.loop_count; ++i)
    nest.loops[i] = bound.nest.loops[static_cast<std::size_t>(order.loops[i])];
  const AxisId parts =
      nest.chunked.present() ? bound.nest.loops[static_cast<std::size_t>(nest.chunked.outer)].axis : AxisId{};
  if (nest.guarded()) nest.find_guarded_pair();
  for (std::size_t i = 0; i < nest.loop_count; ++i) {
    const AxisId axis = nest.loops[i].axis;
    if (nest.chunked.present() && axis == parts) nest.chunked.outer = static_cast<int>(i);
    if (nest.chunked.present() && axis == nest.chunked.of) nest.chunked.inner = static_cast<int>(i);
  }
  return nest;
}

}  // namespace tilescope
