// What a user loses who takes the tile that the model calls the fastest.
#include <cmath>
#include <map>

#include "compare/compare.h"

namespace tilescope {
namespace {

// Fewer recorded tiles than this are not a choice.
constexpr std::size_t fewest_tiles = 4;
// A kernel with so many workloads is judged; the mean may be a twentieth.
constexpr std::size_t enough_workloads = 12;
constexpr double most_regret = 0.05;

}  // namespace

double regret_of(const std::vector<TimedTile>& tiles) {
  const TimedTile *chosen = &tiles.at(0), *best = chosen;
  for (const TimedTile& tile : tiles) {
    if (tile.predicted < chosen->predicted) chosen = &tile;
    if (tile.measured < best->measured) best = &tile;
  }
  return chosen->measured / best->measured - 1;
}

std::vector<SearchRegret> search_regret(const Comparison& comparison) {
  std::map<std::string, const ComparisonRow*> seconds;
  for (const ComparisonRow& row : comparison.rows)
    if (row.quantity == "seconds") seconds[row.hardware + row.point] = &row;
  // By GPU and kernel, workload, point: a point that several experiments measured is one tile.
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::map<std::string, TimedTile>>> tiles;
  for (const ComparedRecord& record : comparison.records) {
    const auto row = seconds.find(record.hardware + record.point);
    if (row == seconds.end()) continue;
    tiles[{record.hardware, record.kernel}][record.workload][record.point] = {row->second->predicted,
                                                                              row->second->measured};
  }
  std::vector<SearchRegret> list;
  for (const auto& [key, workloads] : tiles) {
    SearchRegret regret;
    regret.hardware = key.first, regret.kernel = key.second;
    double logs = 0;
    for (const auto& [workload, by_point] : workloads) {
      if (by_point.size() < fewest_tiles) continue;
      std::vector<TimedTile> timed;
      for (const auto& [point, tile] : by_point) timed.push_back(tile);
      const double lost = regret_of(timed);
      logs += std::log1p(lost);
      ++regret.workloads, regret.tiles += timed.size();
      if (lost >= regret.worst) regret.worst = lost, regret.worst_workload = workload;
    }
    if (regret.workloads == 0) continue;
    regret.mean = std::expm1(logs / static_cast<double>(regret.workloads));
    regret.within_bar = regret.workloads < enough_workloads || regret.mean <= most_regret;
    list.push_back(regret);
  }
  return list;
}

}  // namespace tilescope
