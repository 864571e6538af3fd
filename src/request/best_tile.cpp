#include "request/best_tile.h"

#include "base/error.h"
#include "predict/point/support.h"

namespace tilescope {

void take_best_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, const SearchOptions& options) {
  const auto take = [&](const Point& chosen) {
    point.tiles = chosen.tiles, point.warps = chosen.warps, point.stages = chosen.stages;
  };
  if (!plan.kernel.variants.empty()) {
    const std::vector<Point> only = search_points(plan, hardware, point, options, nullptr);
    if (only.size() == 1) return take(only.front());
  } else if (point.l2 == L2Model::closed) {
    if (const auto best = best_by_closed_form(plan, hardware, point, options)) take(*best);
    return;
  }
  const SearchResult result = search_tiles(plan, hardware, point, options);
  if (!result.feasible.empty()) take(result.feasible.front().point);
  else if (!plan.kernel.variants.empty() && !result.infeasible.empty()) take(result.infeasible.front().point);
}

void settle_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                 const SearchOptions& options) {
  if (!given || !plan.kernel.variants.empty()) take_best_tile(plan, hardware, point, options);
  refuse_unsupported(plan, hardware, point);
}

void refuse_unsupported(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  std::vector<Diagnostic> diagnostics;
  if (const std::string reason = unsupported_on(plan, hardware); !reason.empty())
    diagnostics.push_back({.path = "--kernel", .message = reason});
  for (const std::string& reason : unsupported(plan, hardware, point))
    diagnostics.push_back({.path = "point", .message = reason});
  if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
}

}  // namespace tilescope
