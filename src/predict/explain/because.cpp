#include "predict/explain/because.h"

#include <fmt/format.h>

#include "predict/point/bound_island.h"

namespace tilescope {

std::vector<std::string> because(const Plan& plan, const Point& point, const Term& term) {
  std::vector<std::string> reasons;
  if (term.array < 0) return reasons;
  const HardwareProfile none;
  const BoundIsland bound = bind_island(plan, none, point, term.island);
  const Nest nest = bound.seen_by(static_cast<ArrayId>(term.array), bound.nest);
  const Array& array = plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)];
  const bool stored = stores(bound, static_cast<ArrayId>(term.array)),
             cached = beyond_l2(term.boundary) && term.fits_cache;
  const auto& axes = plan.schedule.diagram.axes;
  for (int i = 0; i <= term.last_loop; ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    if (loop.trips <= 1) continue;
    const auto& of = axes[index(loop.axis)].chunks_of;
    const std::string axis =
        of ? fmt::format("{}:{}({} parts)", axes[index(*of)].name, loop.group ? "group" : "stream", loop.trips)
           : fmt::format("{}:{}{}", axes[index(loop.axis)].name, loop.group ? "group" : "stream",
                         loop.tile > 1 ? fmt::format("({})", loop.tile) : "");
    const bool cuts = nest.carries(array.axes, loop.axis);
    reasons.push_back(fmt::format("{} {} it", axis,
                                  cuts     ? "cuts"
                                  : cached ? "shares"
                                  : stored ? "comes back to"
                                           : "repeats"));
  }
  return reasons;
}

}  // namespace tilescope
