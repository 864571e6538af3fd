#include "request/best_tile.h"

#include "base/error.h"
#include "predict/point/support.h"

namespace tilescope {

void take_best_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, const SearchOptions& options) {
  const SearchResult result = search_tiles(plan, hardware, point, options);
  if (result.feasible.empty()) return;
  const Point& best = result.feasible.front().point;
  point.tiles = best.tiles, point.warps = best.warps, point.stages = best.stages;
}

void settle_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                 const SearchOptions& options) {
  if (!given) take_best_tile(plan, hardware, point, options);
  std::vector<Diagnostic> diagnostics;
  if (const std::string reason = unsupported_on(plan, hardware); !reason.empty())
    diagnostics.push_back({.path = "--kernel", .message = reason});
  for (const std::string& reason : unsupported(plan, hardware, point))
    diagnostics.push_back({.path = "point", .message = reason});
  if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
}

}  // namespace tilescope
