#include "wasm/pictures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/pictures/pictures.h"
#include "analysis/report/roofs.h"
#include "predict/explain/labels.h"
#include "search/search.h"

namespace tilescope::wasm {
namespace {

// The format of queries, or of the first array where there are none: whose peak bounds the point.
std::string main_format(const Plan& plan, const Point& point) {
  const std::vector<Array>& arrays = plan.schedule.diagram.arrays;
  const auto queries = std::find_if(arrays.begin(), arrays.end(), [](const Array& a) { return a.dtype_key == "q"; });
  if (arrays.empty()) return "";
  return to_string(point.dtypes[queries == arrays.end() ? 0 : static_cast<std::size_t>(queries - arrays.begin())]);
}

Json gpu_json(const HardwareProfile& hardware, const std::string& format) {
  Json roofs = Json::array(), peaks = Json::array();
  for (const analysis::Roof& roof : analysis::roofs(hardware))
    roofs.push_back({{"level", roof.level}, {"bytes_per_second", roof.bytes_per_second}, {"basis", roof.basis}});
  for (const analysis::Peak& peak : analysis::peaks(hardware, {format}))
    peaks.push_back({{"path", peak.path}, {"flop_per_second", peak.flop_per_second}});
  return {{"id", hardware.id}, {"name", hardware.name}, {"roofs", std::move(roofs)}, {"peaks", std::move(peaks)}};
}

Json split_json(const Answer& answer) {
  if (!answer.outside.empty() || !answer.prediction.feasible || !answer.prediction.time.modelled) return nullptr;
  const analysis::TimeSplit split = analysis::time_split(answer.prediction, answer.hardware);
  Json busiest = Json::object();
  for (const auto& [unit, seconds] : split.busiest) busiest[unit] = seconds;
  return {{"busiest", std::move(busiest)}, {"waits", split.waits}, {"idle", split.idle}, {"launch", split.launch}};
}

Json tile_cell(const Plan& plan, const Point& point) {
  const auto& variants = plan.kernel.variants;
  const bool built = variants.empty() || std::any_of(variants.begin(), variants.end(), [&](const KernelVariant& v) {
                       return v.tile_q == point.tiles[0] && v.tile_kv == point.tiles[1] && serves(plan, point, v);
                     });
  return {{"y", point.tiles[0]}, {"x", point.tiles[1]}, {"tile", tile_label(plan, point)}, {"built", built}};
}

}  // namespace

Json point_picture(const Answer& answer) {
  const std::string format = main_format(answer.plan, answer.point);
  return {{"prediction", answer.json()},
          {"gpu", gpu_json(answer.hardware, format)},
          {"format", format},
          {"tile", answer.outside.empty() ? tile_label(answer.plan, answer.point) : ""},
          {"split", split_json(answer)}};
}

Json tile_picture(const Options& options) {
  const Answer shown = answer(options);
  Json cells = Json::array();
  if (shown.plan.schedule.parameters.size() < 2 || !shown.outside.empty())
    return {{"axes", Json::array()}, {"cells", std::move(cells)}};
  Plan every_tile = shown.plan;
  every_tile.kernel.variants.clear();
  const SearchResult result = search_tiles(every_tile, shown.hardware, shown.point);
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  const auto first = [&](const Point& point) { return seen.insert({point.tiles[0], point.tiles[1]}).second; };
  for (const Candidate& c : result.feasible) {
    if (!first(c.point)) continue;
    Json& cell = cells.emplace_back(tile_cell(shown.plan, c.point));
    cell["seconds"] = c.seconds, cell["l2_bytes"] = c.l2_bytes, cell["hbm_bytes"] = c.hbm_bytes;
  }
  for (const FellOut& f : result.infeasible) {
    if (!f.runnable || !first(f.point)) continue;
    Json& cell = cells.emplace_back(tile_cell(shown.plan, f.point));
    cell["level"] = to_string(f.row.level), cell["needed_bytes"] = f.row.bytes;
    cell["available_bytes"] = static_cast<std::int64_t>(std::floor(f.row.capacity_bytes));
  }
  const auto& parameters = shown.plan.schedule.parameters;
  return {{"axes", {parameters[0].name, parameters[1].name}}, {"cells", std::move(cells)}};
}

}  // namespace tilescope::wasm
