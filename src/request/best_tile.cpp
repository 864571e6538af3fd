#include "request/best_tile.h"

#include "base/error.h"
#include "predict/point/support.h"

namespace tilescope {

namespace {

void take(const Point& chosen, Point& point) {
  point.tiles = chosen.tiles, point.warps = chosen.warps, point.stages = chosen.stages;
}

}  // namespace

std::optional<double> RankedTiles::seconds() const {
  if (ranked.feasible.empty()) return std::nullopt;
  return ranked.feasible.front().seconds;
}

RankedTiles rank_tiles(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                       const SearchOptions& options) {
  const bool built = !plan.kernel.variants.empty();
  if (given && !built) return {};
  if (built) {
    const std::vector<Point> only = search_points(plan, hardware, point, options, nullptr);
    if (only.size() == 1) return take(only.front(), point), RankedTiles{};
  } else if (point.l2 == L2Model::closed) {
    if (const auto best = best_by_closed_form(plan, hardware, point, options)) take(*best, point);
    return {};
  }
  RankedTiles tiles{.ranked = rank_by_closed_form(plan, hardware, point, options)};
  const SearchResult& ranked = tiles.ranked;
  if (!ranked.feasible.empty()) take(ranked.feasible.front().point, point);
  else if (built && !ranked.infeasible.empty()) take(ranked.infeasible.front().point, point);
  return tiles;
}

std::optional<Prediction> walk_tiles(const Plan& plan, const HardwareProfile& hardware, Point& point,
                                     RankedTiles& tiles) {
  find_first_by_walk(plan, hardware, point, tiles.ranked);
  if (tiles.ranked.first) take(tiles.ranked.feasible.front().point, point);
  return std::move(tiles.ranked.first);
}

void take_best_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, const SearchOptions& options) {
  RankedTiles tiles = rank_tiles(plan, hardware, point, false, options);
  walk_tiles(plan, hardware, point, tiles);
}

std::optional<Prediction> settle_tile(const Plan& plan, const HardwareProfile& hardware, Point& point, bool given,
                                      const SearchOptions& options) {
  RankedTiles tiles = rank_tiles(plan, hardware, point, given, options);
  auto prediction = walk_tiles(plan, hardware, point, tiles);
  refuse_unsupported(plan, hardware, point);
  return prediction;
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
