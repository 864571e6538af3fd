#include "analysis/json.h"
#include "analysis/pictures/pictures.h"
#include "analysis/report/report.h"
#include "records/record_label.h"

namespace tilescope::analysis {
namespace {

Json hardware_json(const Hardware& hardware) {
  Json roofs = Json::array(), peaks = Json::array();
  for (const Roof& roof : hardware.roofs)
    roofs.push_back({{"level", roof.level}, {"bytes_per_second", roof.bytes_per_second}, {"basis", roof.basis}});
  for (const Peak& peak : hardware.peaks)
    peaks.push_back({{"dtype", peak.dtype}, {"path", peak.path}, {"flop_per_second", peak.flop_per_second}});
  return {{"id", hardware.id},
          {"name", hardware.name},
          {"chip", hardware.chip},
          {"roofs", std::move(roofs)},
          {"peaks", std::move(peaks)}};
}

Json measured_json(const Side& side) {
  Json traffic = Json::array(), work;
  for (const Traffic& level : side.traffic) {
    Json row{{"level", level.level}};
    if (level.read_bytes) row["read_bytes"] = *level.read_bytes;
    if (level.write_bytes) row["write_bytes"] = *level.write_bytes;
    if (level.operand_read_bytes) row["operand_read_bytes"] = *level.operand_read_bytes;
    traffic.push_back(std::move(row));
  }
  for (const auto& [name, value] : side.work) work[name] = value;
  return {{"traffic", std::move(traffic)},
          {"work", std::move(work)},
          {"seconds", json_of(side.seconds)},
          {"seconds_cold", json_of(side.seconds_cold)},
          {"clock_hz", json_of(side.clock_hz)}};
}

Json point_json(const ReportPoint& point, const ComparedPoint& compared, const HardwareProfile& hardware) {
  return {{"id", point.id},
          {"kernel", point.kernel},
          {"label", record_label(compared.record.point)},
          {"prediction", to_json(compared.plan, hardware, compared.point, compared.prediction, {.terms = false})},
          {"measured", point.measured ? measured_json(*point.measured) : Json(nullptr)}};
}

Json tile_json(const Tile& tile) {
  Json json{{"q", whole(tile.q)}, {"kv", whole(tile.kv)}, {"feasible", tile.feasible}, {"built", tile.built}};
  if (!tile.built) return json;
  if (tile.feasible) {
    json["seconds"] = json_of(tile.seconds);
    json["l2_read_bytes"] = whole(tile.l2_read_bytes);
  } else {
    json["level"] = tile.level;
    json["needed_bytes"] = whole(tile.needed_bytes);
    json["available_bytes"] = whole(tile.available_bytes);
  }
  json["warps"] = whole(tile.warps);
  if (tile.pack) json["pack"] = whole(tile.pack);
  if (tile.stages) json["stages"] = whole(tile.stages);
  return json;
}

Json tile_map_json(const std::optional<TileMap>& map) {
  if (!map) return nullptr;
  Json cells = Json::array();
  for (const Tile& tile : map->cells) cells.push_back(tile_json(tile));
  return {{"title", map->title}, {"kernel", map->kernel}, {"hardware", map->hardware}, {"cells", std::move(cells)}};
}

Json derivation_json(const std::optional<ReportDerivation>& derivation) {
  if (!derivation) return nullptr;
  Json terms = Json::array();
  for (const ReportTerm& term : derivation->terms)
    terms.push_back({{"island", term.island},
                     {"boundary", term.boundary},
                     {"array", term.array},
                     {"direction", term.direction},
                     {"kind", term.kind},
                     {"bytes", whole(term.bytes)},
                     {"formula", term.formula},
                     {"because", term.because}});
  return {{"point", derivation->point},
          {"title", derivation->title},
          {"paragraphs", derivation->paragraphs},
          {"pseudocode", derivation->pseudocode},
          {"terms", std::move(terms)}};
}

}  // namespace

Json to_json(const Report& report, const std::vector<Json>& predictions) {
  Json points = Json::array(), gpus = Json::array(), refused = Json::array();
  for (std::size_t i = 0; i < report.points.size(); ++i)
    points.push_back({{"id", report.points[i].id},
                      {"kernel", report.points[i].kernel},
                      {"label", report.points[i].label},
                      {"prediction", predictions.at(i)},
                      {"measured", nullptr}});
  for (const Hardware& gpu : report.gpus) gpus.push_back(hardware_json(gpu));
  for (const RefusedPoint& point : report.refused)
    refused.push_back({{"label", point.label}, {"reason", point.reason}});
  return {{"schema", "tilescope/report/1"},
          {"title", report.title},
          {"generated", report.generated},
          {"revision", report.revision},
          {"hardware", gpus.empty() ? Json() : gpus.front()},
          {"gpus", std::move(gpus)},
          {"points", std::move(points)},
          {"refused", std::move(refused)},
          {"comparison", {{"rows", Json::array()}, {"summary", Json::array()}}},
          {"tile_map", tile_map_json(report.tile_map)},
          {"derivation", derivation_json(report.derivation)}};
}

Json to_json(const Report& report, const Comparison& comparison, const HardwareProfile& hardware) {
  Json points = Json::array();
  for (std::size_t i = 0; i < report.points.size(); ++i)
    points.push_back(point_json(report.points[i], comparison.points.at(i), hardware));
  Json compared = tilescope::to_json(comparison);
  Json json{{"schema", "tilescope/report/1"},
            {"title", report.title},
            {"generated", report.generated},
            {"revision", report.revision},
            {"hardware", hardware_json(report.gpus.front())},
            {"points", std::move(points)},
            {"comparison", {{"rows", std::move(compared["rows"])}, {"summary", std::move(compared["summary"])}}},
            {"tile_map", tile_map_json(report.tile_map)},
            {"derivation", derivation_json(report.derivation)}};
  if (report.pictures) json["pictures"] = to_json(*report.pictures);
  return json;
}

}  // namespace tilescope::analysis
