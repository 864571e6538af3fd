#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/report/report.h"
#include "base/parallel.h"
#include "predict/predict.h"
#include "records/record_label.h"
#include "search/search.h"

namespace tilescope::analysis {
namespace {

using Sides = std::pair<std::int64_t, std::int64_t>;  // of a query tile and a key/value tile

Sides sides_of(const Point& point) { return {point.tiles[0], point.tiles[1]}; }

// The best point of each query and key/value tile, as far as one fits, and what is too small where none does.
struct Candidates {
  std::map<Sides, Point> best;
  std::map<Sides, FellOut> fell_out;
};

// Of every tile that an instance is built for: the search that `predict` makes where only these two are given.
Candidates built_tiles(const ComparedPoint& shown, const HardwareProfile& hardware) {
  Candidates found;
  std::set<Sides> built;
  for (const Point& point : search_points(shown.plan, hardware, shown.point, {}, nullptr))
    built.insert(sides_of(point));
  for (const Sides& sides : built) {
    Point point = shown.point;
    std::tie(point.tiles[0], point.tiles[1]) = sides;
    const SearchResult result = search_tiles(shown.plan, hardware, point, {.fixed = {0, 1}});
    if (!result.feasible.empty()) found.best.emplace(sides, result.feasible.front().point);
    else if (!result.infeasible.empty()) found.fell_out.emplace(sides, result.infeasible.front());
  }
  return found;
}

// Of every tile that the search tries for an assumed implementation.
Candidates assumed_tiles(const ComparedPoint& shown, const HardwareProfile& hardware) {
  const SearchResult result = rank_by_closed_form(shown.plan, hardware, shown.point);
  Candidates found;
  for (const Candidate& each : result.feasible) found.best.emplace(sides_of(each.point), each.point);
  for (const FellOut& each : result.infeasible)
    if (each.runnable && !found.best.contains(sides_of(each.point))) found.fell_out.emplace(sides_of(each.point), each);
  return found;
}

Tile tile_of(const Plan& plan, const Point& point) {
  Tile tile{.q = static_cast<double>(point.tiles[0]),
            .kv = static_cast<double>(point.tiles[1]),
            .warps = static_cast<double>(point.warps)};
  if (const int pack = plan.schedule.find_parameter("pack"); pack >= 0)
    tile.pack = static_cast<double>(point.tiles[static_cast<std::size_t>(pack)]);
  if (point.stages > 0) tile.stages = static_cast<double>(point.stages);
  return tile;
}

// The rest of the rectangle: tiles that no instance is built for. Nothing is predicted of them.
void add_unbuilt(const Candidates& found, TileMap& map) {
  std::set<Sides> seen;
  std::set<std::int64_t> queries, keys;
  const auto note = [&](const auto& tiles) {
    for (const auto& [sides, point] : tiles) seen.insert(sides), queries.insert(sides.first), keys.insert(sides.second);
  };
  note(found.best), note(found.fell_out);
  for (const std::int64_t q : queries)
    for (const std::int64_t kv : keys)
      if (!seen.contains({q, kv}))
        map.cells.push_back({.q = static_cast<double>(q), .kv = static_cast<double>(kv), .built = false});
}

}  // namespace

TileMap tile_map_of(const ComparedPoint& shown, const HardwareProfile& hardware) {
  const bool built = !shown.plan.kernel.variants.empty();
  const Candidates found = built ? built_tiles(shown, hardware) : assumed_tiles(shown, hardware);
  TileMap map{.title = fmt::format("tiles of {} around {}", shown.plan.kernel.name, record_label(shown.record.point)),
              .kernel = shown.plan.kernel.name,
              .hardware = hardware.id};
  std::vector<Point> points;
  for (const auto& [sides, point] : found.best) {
    map.cells.push_back(tile_of(shown.plan, point));
    points.push_back(point), points.back().l2 = shown.point.l2;
  }
  in_order(
      points.size(), all_cores(),
      [&](std::size_t i, std::size_t) {
        const Prediction prediction = predict(shown.plan, hardware, points[i]);
        map.cells[i].seconds = prediction.time.total;
        map.cells[i].l2_read_bytes = static_cast<double>(prediction.traffic[LevelId::l2][0]);
      },
      [](std::size_t, std::size_t) {});
  for (const auto& [sides, fallen] : found.fell_out) {
    if (!fallen.runnable) continue;
    Tile& tile = map.cells.emplace_back(tile_of(shown.plan, fallen.point));
    tile.feasible = false, tile.level = to_string(fallen.row.level);
    tile.needed_bytes = static_cast<double>(fallen.row.bytes);
    tile.available_bytes = std::floor(fallen.row.capacity_bytes);
  }
  if (built) add_unbuilt(found, map);
  return map;
}

}  // namespace tilescope::analysis
