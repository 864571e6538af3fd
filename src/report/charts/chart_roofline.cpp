// The hierarchical roofline: after Williams, Waterman and Patterson (2009), once a memory level.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/charts/chart.h"
#include "report/charts/levels.h"
#include "report/charts/roofline_data.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

// One panel's axes. A single panel has room for full titles.
struct Axes {
  const RooflineFrame& frame;
  const RooflinePanel& panel;

  bool small() const { return panel.width < 400; }
  json x(const char* field = "x") const {
    return {{"field", field},
            {"type", "quantitative"},
            {"title", small() ? "FLOP per byte at the level" : "Arithmetic intensity at the level (FLOP per byte)"},
            {"scale", {{"type", "log"}, {"domain", {frame.x.low, frame.x.high}}, {"nice", false}}},
            {"axis", {{"values", frame.x.ticks()}, {"format", "~s"}, {"labelOverlap", true}}}};
  }
  json y(const char* field = "y") const {
    return {{"field", field},
            {"type", "quantitative"},
            {"title", small() ? "FLOP/s" : "Performance (FLOP/s)"},
            {"scale", {{"type", "log"}, {"domain", {frame.y.low, frame.y.high}}, {"nice", false}}},
            {"axis", {{"values", frame.y.ticks()}, {"format", "~s"}}}};
  }
  // Roofs of one slope: their angle on the screen.
  std::string angle() const {
    return fmt::format("-atan((height / {:.5f}) / (width / {:.5f})) * 180 / PI", std::log(frame.y.high / frame.y.low),
                       std::log(frame.x.high / frame.x.low));
  }
};

json by_level(const std::vector<std::string>& levels, const char* (*of)(const std::string&)) {
  json range = json::array();
  for (const std::string& level : levels) range.push_back(of(level));
  return {
      {"field", "level"}, {"type", "nominal"}, {"legend", nullptr}, {"scale", {{"domain", levels}, {"range", range}}}};
}

json colour(const std::vector<std::string>& levels) { return by_level(levels, level_colour); }

json halo_of(json text) {
  text["mark"].update(
      {{"stroke", "var(--paper)"}, {"strokeWidth", 4}, {"strokeJoin", "round"}, {"color", "var(--paper)"}});
  text["encoding"].erase("color");
  return text;
}

json tooltip(std::initializer_list<std::pair<const char*, const char*>> fields) {
  json list = json::array();
  for (const auto& [field, title] : fields) list.push_back({{"field", field}, {"title", title}});
  return list;
}

json roof_layers(const Axes& axes) {
  const std::vector<std::string>& levels = axes.frame.levels;
  json line;
  line["data"] = {{"name", "roofs"}};
  line["transform"] = json::array({{{"filter", "level == 'all' || datum.level == level"}}});
  line["mark"] = {{"type", "rule"}, {"strokeWidth", 2}, {"clip", true}};
  json dash = by_level(levels, level_colour), dashes = json::array();
  for (const std::string& level : levels) dashes.push_back(level_dash(level));
  dash["scale"]["range"] = dashes;
  line["encoding"] = {{"x", axes.x()},
                      {"y", axes.y()},
                      {"x2", {{"field", "x2"}}},
                      {"y2", {{"field", "y2"}}},
                      {"color", colour(levels)},
                      {"strokeDash", dash},
                      {"tooltip", tooltip({{"level", "roof"}, {"rate", "rate"}, {"basis", "basis"}})}};
  json peak;
  peak["data"] = {{"name", "peaks"}};
  peak["mark"] = {{"type", "rule"}, {"strokeWidth", 2}, {"color", "var(--ink)"}, {"clip", true}};
  peak["encoding"] = {
      {"x", axes.x()}, {"y", axes.y()}, {"x2", {{"field", "x2"}}}, {"tooltip", tooltip({{"label", "peak"}})}};
  return json::array({line, peak});
}

// Names along the roofs, and above the peaks at the right edge.
json text_layers(const Axes& axes) {
  const int size = axes.small() ? 10 : 12;
  json name;
  name["data"] = {{"name", "roofs"}};
  name["transform"] = json::array({{{"filter", "level == 'all' || datum.level == level"}}});
  name["mark"] = {{"type", "text"},
                  {"align", "left"},
                  {"baseline", "bottom"},
                  {"angle", {{"expr", axes.angle()}}},
                  {"dx", {{"expr", "datum.shift"}}},
                  {"dy", -3},
                  {"fontSize", size},
                  {"fontWeight", 600}};
  name["encoding"] = {
      {"x", axes.x()}, {"y", axes.y()}, {"text", {{"field", "label"}}}, {"color", colour(axes.frame.levels)}};
  json peak;
  peak["data"] = {{"name", "peaks"}};
  peak["mark"] = {{"type", "text"}, {"align", "right"}, {"dy", -8}, {"fontSize", size}, {"fontWeight", 600}};
  peak["encoding"] = {{"x", axes.x("x2")}, {"y", axes.y()}, {"text", {{"field", "label"}}}};
  return json::array({halo_of(peak), peak, halo_of(name), name});
}

// The marks with what the page says of their points, filtered by the controls.
json chosen_marks(const char* only) {
  const json from = {{"data", {{"name", "points"}}},
                     {"key", "key"},
                     {"fields", {"label", "kernel", "tile", "time_predicted", "time_measured", "gpu"}}};
  json layer;
  layer["data"] = {{"name", "marks"}};
  layer["transform"] = json::array(
      {{{"filter", fmt::format("isValid(datum.{}) && (level == 'all' || datum.level == level)", only)}},
       {{"lookup", "id"}, {"from", from}},
       {{"filter", "kernel == 'all' || datum.kernel == kernel"}},
       {{"calculate", "format(datum.x, ',.4~r') + (isValid(datum.mx) ? ' / ' + format(datum.mx, ',.4~r') : '')"},
        {"as", "intensity"}},
       {{"calculate",
         "format(datum.y, '.3s') + 'FLOP/s' + (isValid(datum.my) ? ' / ' + format(datum.my, '.3s') + 'FLOP/s' "
         ": '')"},
        {"as", "rate"}},
       {{"calculate", "datum.label + (isValid(datum.more) ? ', and ' + datum.more + ' more under this mark' : '')"},
        {"as", "name"}}});
  return layer;
}

json point_layers(const Axes& axes) {
  const std::vector<std::string>& levels = axes.frame.levels;
  const json faded = {{"condition", {{"test", "hovered == '' || datum.id == hovered"}, {"value", 1}}}, {"value", 0.12}};
  json join = chosen_marks("mx");
  join["mark"] = {{"type", "rule"}, {"strokeWidth", 1}, {"clip", true}};
  join["encoding"] = {{"x", axes.x()},           {"y", axes.y()},           {"x2", {{"field", "mx"}}},
                      {"y2", {{"field", "my"}}}, {"color", colour(levels)}, {"opacity", faded}};
  const auto layer = [&](const char* x, const char* y, bool filled) {
    json point = chosen_marks(x);
    point["mark"] = {
        {"type", "point"},    {"filled", true}, {"size", filled ? (axes.small() ? 22 : 34) : (axes.small() ? 58 : 90)},
        {"strokeWidth", 1.4}, {"clip", true},   {"cursor", "pointer"}};
    json fill = filled ? colour(levels) : json{{"value", "transparent"}};
    point["encoding"] = {{"x", axes.x(x)},
                         {"y", axes.y(y)},
                         {"stroke", colour(levels)},
                         {"fill", fill},
                         {"shape", by_level(levels, level_shape)},
                         {"opacity", faded},
                         {"tooltip", tooltip({{"name", "point"},
                                              {"tile", "tile"},
                                              {"level", "level"},
                                              {"time_predicted", "time predicted"},
                                              {"time_measured", "time measured"},
                                              {"intensity", "FLOP per byte, predicted / measured"},
                                              {"rate", "performance, predicted / measured"}})}};
    return point;
  };
  json ring = chosen_marks("x");
  ring["transform"].push_back({{"filter", "datum.id == point"}});
  ring["mark"] = {{"type", "point"}, {"filled", false}, {"size", 260}, {"strokeWidth", 1.6}, {"color", "var(--ink)"}};
  ring["encoding"] = {{"x", axes.x()}, {"y", axes.y()}};
  return json::array({join, ring, layer("mx", "my", true), layer("x", "y", false)});
}

}  // namespace

std::string panel_title(const RooflinePanel& panel) { return panel.gpu->name + ", " + panel.dtype; }

json roofline_chart(const Report& report, const RooflinePanel& panel, const RooflineFrame& frame) {
  const Axes axes{frame, panel};
  json spec = chart_base("Roofline of " + panel_title(panel) +
                             ": performance over arithmetic intensity, both logarithmic, once a memory level. Hollow "
                             "marks are predicted, filled marks measured, a line joins the two.",
                         panel.height);
  json params = json::array();
  for (const auto& [name, value] :
       {std::pair{"level", kEverything}, {"kernel", kEverything}, {"point", ""}, {"hovered", ""}})
    params.push_back({{"name", name}, {"value", value}});
  spec["params"] = params;
  spec["datasets"] = {{"marks", roofline_marks(report, panel, frame)},
                      {"roofs", roofline_roofs(panel, frame)},
                      {"peaks", roofline_peaks(panel, frame)}};
  spec["layer"] = roof_layers(axes);
  for (const json& layers : {point_layers(axes), text_layers(axes)})
    for (const json& layer : layers) spec["layer"].push_back(layer);
  return spec;
}

}  // namespace tilescope::report
