#include "predict/l2/compulsory.h"

#include <algorithm>

#include "base/checked.h"
#include "cost/live_tiles.h"
#include "predict/l2/memory_traffic.h"

namespace tilescope {

namespace {

enum class Written { no, visited_rows, all_rows };

Written written(std::span<const BoundIsland> launches, ArrayId id) {
  Written found = Written::no;
  for (const BoundIsland& launch : launches)
    if (stores(launch, id))
      found = std::max(found, launch.how.writes_masked_rows ? Written::all_rows : Written::visited_rows);
  return found;
}

}  // namespace

std::int64_t compulsory_bytes(std::span<const BoundIsland> launches) {
  const Point& point = launches.front().point;
  const Plan& plan = launches.front().plan;
  const Diagram& diagram = plan.schedule.diagram;
  const Workload lengths = guarded_lengths(diagram, point.workload);
  LiveSums seen{.rows = lengths.q_len, .keys = lengths.kv_len};
  if (point.mask.masks()) seen = visible_pairs(point.mask, lengths.q_len, lengths.kv_len);
  std::array<std::int64_t, max_axes> sizes{};
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) sizes[i] = diagram.axes[i].size_in(point.workload);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (diagram.arrays[i].role == ArrayRole::interior || diagram.arrays[i].alias_of)
      continue;  // a view comes with its source
    const Written result = diagram.arrays[i].role == ArrayRole::output ? written(launches, id) : Written::visited_rows;
    if (result == Written::no) continue;
    std::int64_t values = 1;
    for (const AxisId axis : diagram.arrays[i].axes) {
      const bool query = diagram.guard && axis == diagram.guard->query,
                 key = diagram.guard && axis == diagram.guard->key;
      const std::int64_t whole = sizes[index(axis)];
      values = checked_mul(values, result == Written::all_rows ? whole : query ? seen.rows : key ? seen.keys : whole);
    }
    total = checked_add(total, checked_add(bytes_of(point, diagram, id, values), array_scale_bytes(point, id)));
  }
  std::int64_t mask = 0;
  for (const IslandImplementation& how : plan.kernel.islands) mask = std::max(mask, mask_bytes(how, point));
  return checked_add(total, mask);
}

}  // namespace tilescope
