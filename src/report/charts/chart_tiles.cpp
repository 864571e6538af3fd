#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

json cells_of(const TileMap& map) {
  json cells = json::array();
  for (const Tile& tile : map.cells) {
    json cell = {{"q", tile.q}, {"kv", tile.kv}, {"fits", "yes"}, {"s", "–"}, {"b", "–"}};
    if (!tile.built) {
      cell["fits"] = cell["how"] = "–";
    } else if (tile.feasible) {
      if (tile.seconds) cell["seconds"] = *tile.seconds;
      if (tile.l2_read_bytes) cell["bytes"] = *tile.l2_read_bytes;
      cell["s"] = quantity_short("seconds", tile.seconds);
      cell["b"] = quantity_short("bytes", tile.l2_read_bytes);
      cell["st"] = quantity_short("seconds", tile.seconds, 3);  // as much as a cell on a narrow screen has room for
      cell["bt"] = quantity_short("bytes", tile.l2_read_bytes, 3);
    } else {
      std::string why = "no, " + (tile.level.empty() ? "a memory" : level_name(tile.level)) + " is too small";
      if (tile.needed_bytes && tile.available_bytes)
        why += ": needs " + with_binary(*tile.needed_bytes) + ", has " + with_binary(*tile.available_bytes);
      cell["fits"] = why;
    }
    cell["ok"] = tile.feasible;
    cell["built"] = tile.built ? "yes" : "no";
    if (tile.built) {
      cell["how"] = fmt::format("{} warps{}{}", tile.warps, tile.pack ? fmt::format(", pack {}", *tile.pack) : "",
                                tile.stages ? fmt::format(", {} stages", *tile.stages) : "");
      cell["ht"] = fmt::format("w{}{}{}", tile.warps, tile.pack ? fmt::format(" p{}", *tile.pack) : "",
                               tile.stages ? fmt::format(" s{}", *tile.stages) : "");
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

json axis(const char* field, const char* title, bool descending) {
  return {{"field", field},
          {"type", "ordinal"},
          {"title", title},
          {"sort", descending ? "descending" : "ascending"},
          {"axis", {{"domain", false}, {"ticks", false}, {"labelAngle", 0}}},
          {"scale", {{"paddingInner", 0.04}}}};
}

// Diagonals over the cells of tiles that fit and for which no instance is built.
json hatching(const json& x, const json& y) {
  json layers = json::array();
  for (const auto& [x1, y1, x2, y2] : {std::array{0., 1., 1., 0.}, {0., 0.5, 0.5, 0.}, {0.5, 1., 1., 0.5}}) {
    json line;
    line["transform"] = json::array({{{"filter", "datum.ok && datum.built == 'no'"}}});
    line["mark"] = {{"type", "rule"}, {"color", "var(--rule)"}, {"strokeWidth", 1}};
    json from_x = x, from_y = y;
    from_x["bandPosition"] = x1, from_y["bandPosition"] = y1;
    line["encoding"] = {{"x", from_x},
                        {"y", from_y},
                        {"x2", {{"field", "kv"}, {"bandPosition", x2}}},
                        {"y2", {{"field", "q"}, {"bandPosition", y2}}}};
    layers.push_back(std::move(line));
  }
  return layers;
}

}  // namespace

json tile_chart(const Report& report) {
  if (!report.tile_map || report.tile_map->cells.empty()) return nullptr;
  const TileMap& map = *report.tile_map;
  std::set<double> rows;
  for (const Tile& tile : map.cells) rows.insert(tile.q);
  json spec = chart_base(
      "Tile map of " + map.kernel +
          ": the chosen metric for every query tile by key/value tile; a cross marks a tile that does not fit.",
      std::max(120, static_cast<int>(rows.size()) * 46));
  spec["data"] = {{"values", cells_of(map)}};
  spec["params"] = json::array({{{"name", "metric"}, {"value", "seconds"}}});
  spec["transform"] =
      json::array({{{"calculate", "metric == 'seconds' ? datum.seconds : datum.bytes"}, {"as", "v"}},
                   {{"calculate", "metric == 'seconds' ? datum.st : datum.bt"}, {"as", "text"}},
                   {{"joinaggregate", json::array({{{"op", "min"}, {"field", "v"}, {"as", "least"}}})}}});
  const json x = axis("kv", "key/value tile (rows)", false), y = axis("q", "query tile (rows)", true);
  const json tooltip = json::array({{{"field", "q"}, {"title", "query tile"}},
                                    {{"field", "kv"}, {"title", "key/value tile"}},
                                    {{"field", "s"}, {"title", "predicted time"}},
                                    {{"field", "b"}, {"title", "L2 read bytes"}},
                                    {{"field", "fits"}},
                                    {{"field", "how"}, {"title", "with"}},
                                    {{"field", "built"}, {"title", "instance built"}}});
  json cell;
  cell["transform"] = json::array({{{"filter", "datum.ok && datum.built == 'yes'"}}});
  cell["mark"] = {{"type", "rect"}};
  const json smallest = {{"test", "datum.v == datum.least"}};
  const auto when_smallest = [&](json value, json otherwise) {
    json condition = smallest;
    condition["value"] = std::move(value);
    return json{{"condition", condition}, {"value", std::move(otherwise)}};
  };
  cell["encoding"] = {
      {"x", x},
      {"y", y},
      {"tooltip", tooltip},
      {"stroke", when_smallest("var(--ink)", "var(--rule)")},
      {"strokeWidth", when_smallest(2.5, 1)},
      {"color",
       {{"field", "v"},
        {"type", "quantitative"},
        {"legend",
         {{"orient", "top"},
          {"direction", "horizontal"},
          {"title", "seconds, or bytes; a stronger tint is less"},
          {"format", ".3~s"},
          {"labelColor", "var(--ink-2)"},
          {"titleColor", "var(--ink-2)"},
          {"titleFontWeight", 400},
          {"titleLimit", 400}}},
        {"scale",
         {{"type", "quantize"},
          {"zero", false},
          {"nice", false},
          {"range", {"var(--heat-5)", "var(--heat-4)", "var(--heat-3)", "var(--heat-2)", "var(--heat-1)"}}}}}}};
  json text;
  text["transform"] = json::array({{{"filter", "datum.ok && datum.built == 'yes'"}}});
  text["mark"] = {{"type", "text"}, {"fontSize", {{"expr", "bandwidth('x') < 42 ? 8 : 11"}}}, {"dy", -5}};
  text["encoding"] = {{"x", x}, {"y", y}, {"text", {{"field", "text"}}}, {"tooltip", tooltip}};
  json instance = text;  // its warps, pack and stages
  instance["mark"] = {{"type", "text"}, {"fontSize", {{"expr", "bandwidth('x') < 42 ? 7 : 9"}}}, {"dy", 9}};
  instance["encoding"]["text"] = {{"field", "ht"}};
  json blocked;
  blocked["transform"] = json::array({{{"filter", "!datum.ok"}}});
  blocked["mark"] = {{"type", "rect"},
                     {"fill", "var(--paper)"},
                     {"stroke", "var(--rule)"},
                     {"strokeWidth", 1},
                     {"strokeDash", {3, 3}}};
  blocked["encoding"] = {{"x", x}, {"y", y}, {"tooltip", tooltip}};
  json cross;
  cross["transform"] = json::array({{{"filter", "!datum.ok"}}});
  cross["mark"] = {{"type", "text"}, {"text", "×"}, {"fontSize", 20}, {"color", "var(--ink-2)"}};
  cross["encoding"] = {{"x", x}, {"y", y}, {"tooltip", tooltip}};
  spec["layer"] = json::array({cell});
  for (const json& stroke : hatching(x, y)) spec["layer"].push_back(stroke);
  for (const json& layer : {blocked, text, instance, cross}) spec["layer"].push_back(layer);
  return spec;
}

}  // namespace tilescope::report
