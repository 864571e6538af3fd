#include "predict/l2/compulsory.h"

#include <algorithm>

#include "base/checked.h"
#include "cost/live_tiles.h"
#include "predict/l2/memory_traffic.h"

namespace tilescope {

std::int64_t compulsory_bytes(const Plan& plan, const Point& point) {
  const Diagram& diagram = plan.schedule.diagram;
  const LiveSums seen = visible_pairs(point.mask, point.workload.q_len, point.workload.kv_len);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (diagram.arrays[i].role == ArrayRole::interior || diagram.arrays[i].alias_of)
      continue;  // a view comes with its source
    const auto stored = [&](const Island& island) { return plan.schedule.writes(island, id); };
    const bool is_output = diagram.arrays[i].role == ArrayRole::output;
    if (is_output && std::none_of(plan.schedule.islands.begin(), plan.schedule.islands.end(), stored)) continue;
    std::int64_t values = 1;
    for (const AxisId axis : diagram.arrays[i].axes) {
      const bool query = diagram.guard && axis == diagram.guard->query,
                 key = diagram.guard && axis == diagram.guard->key;
      const std::int64_t whole = diagram.axes[index(axis)].size_in(point.workload);
      values = checked_mul(values, is_output ? whole : query ? seen.rows : key ? seen.keys : whole);
    }
    total = checked_add(total, checked_add(bytes_of(point, diagram, id, values), array_scale_bytes(point, id)));
  }
  std::int64_t mask = 0;
  for (const IslandImplementation& how : plan.kernel.islands) mask = std::max(mask, mask_bytes(how, point));
  return checked_add(total, mask);
}

}  // namespace tilescope
