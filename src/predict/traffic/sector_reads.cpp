#include "predict/traffic/sector_reads.h"

#include <algorithm>

#include "base/checked.h"
#include "predict/traffic/sectors.h"

namespace tilescope {

std::int64_t element_bytes(const BoundIsland& bound, ArrayId id) {
  return std::max<std::int64_t>(1, bits(bound.point.dtypes[index(id)].format) / 8);
}

std::int64_t sector_read_bytes(const BoundIsland& bound, ArrayId id) {
  const Array& array = bound.plan.schedule.diagram.array(id);
  const auto times = bound.how.sector_reads.find(array.name);
  if (times == bound.how.sector_reads.end() || !bound.hardware.sector_bytes || !bound.hardware.warp_size) return 0;
  const std::int64_t warp = bound.hardware.warp_size->value, lanes = row_lanes(bound), steps = steps_of(bound.nest);
  const std::int64_t rows = touched_values(bound.nest, bound.live, array.axes) / steps;
  const std::int64_t reads = checked_mul(times->second, ceil_div(lanes, warp)),
                     sector = bound.hardware.sector_bytes->value;
  if (bound.how.step_lanes > 1)
    return checked_mul(reads, strided_reads(steps, rows, bound.how.step_lanes, element_bytes(bound, id), sector));
  const std::int64_t of_warp = std::max<std::int64_t>(1, warp / lanes);  // rows
  return checked_mul(reads, sector_stores(steps, rows, of_warp, element_bytes(bound, id), sector));
}

}  // namespace tilescope
