#include "cli/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "predict/explain/pseudocode.h"
#include "records/record_label.h"
#include "search/search.h"

namespace tilescope::cli {
namespace {

Json roofs(const HardwareProfile& hardware) {
  Json list = Json::array();
  for (const MemoryLevel& level : hardware.levels) {
    if (level.measured_bandwidth_bytes_per_second)
      list.push_back({{"level", level.name},
                      {"bytes_per_second", level.measured_bandwidth_bytes_per_second->value},
                      {"basis", "measured"}});
    else if (level.bandwidth_bytes_per_second)
      list.push_back({{"level", level.name},
                      {"bytes_per_second", level.bandwidth_bytes_per_second->value},
                      {"basis", "datasheet"}});
    else if (level.bandwidth_bytes_per_cycle && hardware.boost_hz && level.name == "smem")
      list.push_back({{"level", level.name},
                      {"bytes_per_second", level.bandwidth_bytes_per_cycle->value *
                                               static_cast<double>(hardware.units.value) * hardware.boost_hz->value},
                      {"basis", "bytes per clock x units x boost clock"}});
  }
  return list;
}

Json peaks(const HardwareProfile& hardware, const std::set<std::string>& dtypes) {
  Json list = Json::array();
  const auto clock = hardware.tensor_hz ? hardware.tensor_hz : hardware.boost_hz;
  if (!clock) return list;
  const auto add = [&](Format format, const std::string& path, double per_cycle) {
    if (dtypes.contains(to_string(format)))
      list.push_back({{"dtype", to_string(format)},
                      {"path", path},
                      {"flop_per_second", per_cycle * static_cast<double>(hardware.units.value) * clock->value}});
  };
  for (const auto& [format, rate] : hardware.tensor_flop_per_cycle) add(format, "tensor", rate.value);
  for (const auto& [path, rates] : hardware.instruction_flop_per_cycle)
    for (const auto& [format, rate] : rates) add(format, path, rate.value);
  if (hardware.fp32_fma_per_cycle && hardware.boost_hz && dtypes.contains("fp32"))
    list.push_back({{"dtype", "fp32"},
                    {"path", "fma"},
                    {"flop_per_second", 2 * hardware.fp32_fma_per_cycle->value *
                                            static_cast<double>(hardware.units.value) * hardware.boost_hz->value}});
  return list;
}

Json measured_json(const ComparedPoint& compared, const HardwareProfile& hardware) {
  std::map<std::string, Json> levels;
  std::map<std::string, double> seconds{{"seconds", 0}, {"seconds_cold", 0}};
  Json work;
  for (const Measured& m : measured_quantities(compared.record, hardware, compared.plan, compared.prediction)) {
    if (m.quantity == "traffic") levels[m.level][m.direction + "_bytes"] = m.value;
    else if (m.quantity == "operand_bytes") levels[m.level]["operand_read_bytes"] = m.value;
    else if (seconds.contains(m.quantity)) seconds[m.quantity] = m.value;
    else work[m.quantity] = m.value;
  }
  Json traffic = Json::array();
  for (const char* name : {"hbm", "l2", "smem", "register"})
    if (levels.contains(name)) {
      Json row{{"level", name}};
      row.update(levels[name]);
      traffic.push_back(std::move(row));
    }
  return {{"traffic", std::move(traffic)},
          {"work", std::move(work)},
          {"seconds", seconds["seconds"]},
          {"seconds_cold", seconds["seconds_cold"]},
          {"clock_hz", compared.record.clocks ? Json(compared.record.clocks->sm_hz) : Json(nullptr)}};
}

// The largest unmasked point of a single-kernel schedule: the one worth explaining and searching around.
const ComparedPoint* showcase(const Comparison& comparison) {
  const ComparedPoint* best = nullptr;
  for (const ComparedPoint& compared : comparison.points) {
    if (compared.plan.schedule.islands.size() != 1 || compared.point.mask.kind != MaskKind::none) continue;
    const auto size = [](const ComparedPoint& p) {
      return std::tuple(p.point.workload.d_qk == 128, p.record.point.workload.q_len == 4096,
                        p.prediction.work.tensor_flop, p.record.point.tile_q * p.record.point.tile_kv);
    };
    if (!best || size(compared) > size(*best)) best = &compared;
  }
  return best;
}

Json tile_map(const ComparedPoint& shown, const HardwareProfile& hardware) {
  Plan assumed = shown.plan;
  assumed.kernel.variants.clear();  // every tile, built or not
  const SearchResult result = search_tiles(assumed, hardware, shown.point);
  Json cells = Json::array();
  std::set<std::pair<std::int64_t, std::int64_t>> seen;  // the best warp count stands for a tile
  for (const Candidate& c : result.feasible)
    if (seen.insert({c.point.tiles[0], c.point.tiles[1]}).second)
      cells.push_back({{"q", c.point.tiles[0]},
                       {"kv", c.point.tiles[1]},
                       {"feasible", true},
                       {"seconds", c.seconds},
                       {"l2_read_bytes", c.l2_bytes},
                       {"warps", c.point.warps}});
  for (const FellOut& f : result.infeasible)
    if (f.runnable && seen.insert({f.point.tiles[0], f.point.tiles[1]}).second)
      cells.push_back({{"q", f.point.tiles[0]},
                       {"kv", f.point.tiles[1]},
                       {"feasible", false},
                       {"level", to_string(f.row.level)},
                       {"needed_bytes", f.row.bytes},
                       {"available_bytes", static_cast<std::int64_t>(f.row.capacity_bytes)},
                       {"warps", f.point.warps}});
  return {{"title", fmt::format("tiles of {} around {}", shown.plan.kernel.name, record_label(shown.record.point))},
          {"kernel", shown.plan.kernel.name},
          {"hardware", hardware.id},
          {"cells", std::move(cells)}};
}

Json derivation(const ComparedPoint& shown, const HardwareProfile& hardware) {
  const Prediction& p = shown.prediction;
  const Json prediction = to_json(shown.plan, hardware, shown.point, p);
  Json paragraphs = Json::array();
  paragraphs.push_back(fmt::format("Schedule {}: {}. Kernel {}: {}.", shown.plan.schedule.name,
                                   shown.plan.schedule.summary, shown.plan.kernel.name, shown.plan.kernel.summary));
  paragraphs.push_back(
      "Each array's tile moves whenever a loop that indexes it, or that starts another block, steps; the terms below "
      "are those moves times the bytes of a tile. "
      "Their sums are the predictions; nothing else enters.");
  paragraphs.push_back(
      fmt::format("At L2 the tiles move {:.3g} times the compulsory {:.4g} MB: every block of queries reads all keys "
                  "and values again. At HBM it is {:.3g} times, because {}.",
                  static_cast<double>(p.traffic[1][0] + p.traffic[1][1]) / static_cast<double>(p.compulsory_bytes),
                  static_cast<double>(p.compulsory_bytes) / 1e6,
                  static_cast<double>(p.traffic[0][0] + p.traffic[0][1]) / static_cast<double>(p.compulsory_bytes),
                  std::all_of(p.terms.begin(), p.terms.end(),
                              [](const Term& t) { return t.boundary != Boundary::hbm || t.fits_cache; })
                      ? "the keys and values of the heads that run at once fit the L2"
                      : "the keys and values of the heads that run at once do not fit the L2"));
  return {{"point", point_id(shown.record.point)},
          {"title", record_label(shown.record.point)},
          {"paragraphs", std::move(paragraphs)},
          {"pseudocode", pseudocode(shown.plan, hardware, shown.point)},
          {"terms", prediction["terms"]}};
}

}  // namespace

Json report_data(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                 const std::string& date) {
  Json points = Json::array();
  std::set<std::string> dtypes;
  for (const ComparedPoint& compared : comparison.points) {
    dtypes.insert(to_string(compared.record.point.dtype));
    points.push_back(
        {{"id", point_id(compared.record.point)},
         {"kernel", compared.record.point.kernel},
         {"label", record_label(compared.record.point)},
         {"prediction", to_json(compared.plan, hardware, compared.point, compared.prediction, {.terms = false})},
         {"measured", measured_json(compared, hardware)}});
  }
  const Json compared = to_json(comparison);
  const ComparedPoint* shown = showcase(comparison);
  return {{"schema", "tilescope/report/1"},
          {"title", "Predicted and measured bytes of attention on " + hardware.name},
          {"generated", date},
          {"revision", revision},
          {"hardware",
           {{"id", hardware.id},
            {"name", hardware.name},
            {"chip", hardware.chip},
            {"roofs", roofs(hardware)},
            {"peaks", peaks(hardware, dtypes)}}},
          {"points", std::move(points)},
          {"comparison", {{"rows", compared["rows"]}, {"summary", compared["summary"]}}},
          {"tile_map", shown ? tile_map(*shown, hardware) : Json(nullptr)},
          {"derivation", shown ? derivation(*shown, hardware) : Json(nullptr)}};
}

}  // namespace tilescope::cli
