#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/report/report.h"
#include "records/record_label.h"
#include "search/search.h"

namespace tilescope::analysis {
namespace {

// Whether the kernel has an instance with the tile of the point.
bool built_at(const Plan& plan, const Point& point) {
  const auto& variants = plan.kernel.variants;
  return variants.empty() || std::any_of(variants.begin(), variants.end(), [&](const KernelVariant& variant) {
           return variant.tile_q == point.tiles[0] && variant.tile_kv == point.tiles[1] && serves(plan, point, variant);
         });
}

}  // namespace

TileMap tile_map_of(const ComparedPoint& shown, const HardwareProfile& hardware) {
  Plan every_tile = shown.plan;
  every_tile.kernel.variants.clear();
  const SearchResult result = search_tiles(every_tile, hardware, shown.point);
  TileMap map{.title = fmt::format("tiles of {} around {}", shown.plan.kernel.name, record_label(shown.record.point)),
              .kernel = shown.plan.kernel.name,
              .hardware = hardware.id};
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  const auto new_tile = [&](const Point& point) -> Tile* {
    if (!seen.insert({point.tiles[0], point.tiles[1]}).second) return nullptr;
    Tile& tile = map.cells.emplace_back(Tile{.q = static_cast<double>(point.tiles[0]),
                                             .kv = static_cast<double>(point.tiles[1]),
                                             .warps = static_cast<double>(point.warps),
                                             .built = built_at(shown.plan, point)});
    if (const int pack = shown.plan.schedule.find_parameter("pack"); pack >= 0)
      tile.pack = static_cast<double>(point.tiles[static_cast<std::size_t>(pack)]);
    if (point.stages > 0) tile.stages = static_cast<double>(point.stages);
    return &tile;
  };
  for (const Candidate& c : result.feasible)
    if (Tile* tile = new_tile(c.point))
      tile->seconds = c.seconds, tile->l2_read_bytes = static_cast<double>(c.l2_bytes);
  for (const FellOut& f : result.infeasible)
    if (Tile* tile = f.runnable ? new_tile(f.point) : nullptr) {
      tile->feasible = false, tile->level = to_string(f.row.level);
      tile->needed_bytes = static_cast<double>(f.row.bytes);
      tile->available_bytes = std::floor(f.row.capacity_bytes);
    }
  return map;
}

}  // namespace tilescope::analysis
