#include "predict/l2/around_products.h"

#include <algorithm>

#include "predict/l2/memory_seconds.h"

namespace tilescope {

double load_around_products(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  double loaded = 0, distinct = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (bound.streams(id) || !loads(bound, id)) continue;
    const Axes axes = diagram.array(id).axes;
    loaded += static_cast<double>(touched_bytes(bound, id, {}));
    distinct +=
        static_cast<double>(bytes_of(bound.point, diagram, id, distinct_values(bound.nest, bound.live, axes, false)));
  }
  const std::int64_t blocks = std::max<std::int64_t>(1, bound.nest.blocks());
  const double share = static_cast<double>(std::min(blocks, bound.hardware.units.value)) / static_cast<double>(blocks);
  // What several blocks load comes from memory once, for all of them from the L2.
  const auto& measured = bound.hardware.measured;
  const double l2 = measured && measured->l2.read_private ? loaded * share / measured->l2.read_private->value : 0;
  return std::max({0.0, hbm_seconds(bound.hardware, (l2 > 0 ? distinct : loaded) * share, 0), l2});
}

}  // namespace tilescope
