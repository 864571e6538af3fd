// The hierarchical roofline: after Williams, Waterman and Patterson (2009), once a memory level.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/contains.h"
#include "base/text.h"
#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

// The range of an axis: grown by what is shown, then rounded outwards to 1, 2 or 5 times a power of ten.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = 0;

  void cover(double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void round_outwards() {
    const double below = std::pow(10, std::floor(std::log10(low))), above = std::pow(10, std::floor(std::log10(high)));
    low = low >= 5 * below ? 5 * below : low >= 2 * below ? 2 * below : below;
    high = high <= above ? above : high <= 2 * above ? 2 * above : high <= 5 * above ? 5 * above : 10 * above;
  }
  // Decades, and 2 and 5 between them while there is room.
  json ticks() const {
    const bool fine = high / low < 201;
    json values = json::array();
    for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high * 1.001; decade *= 10)
      for (const double step : {1., 2., 5.})
        if ((fine || step == 1.) && decade * step >= low * 0.999 && decade * step <= high * 1.001)
          values.push_back(decade * step);
    return values;
  }
};

constexpr int kHeight = 460;  // pixels

// Six digits are finer than a pixel and half the size of the page's data.
double for_screen(double value) { return std::stod(fmt::format("{:.6g}", value)); }

double flop_of(const Side& side) {
  for (const char* name : {"tensor_flop", "fma_flop"})
    if (const Number found = count_of(side.work, name); found && *found > 0) return *found;
  return 0;
}

// The point's place at one level, or nothing when a number that it needs is missing.
json mark_of(const ReportPoint& point, const Side& side, const Traffic& traffic) {
  const double bytes = traffic.read_bytes.value_or(0) + traffic.write_bytes.value_or(0);
  const double flop = flop_of(side);
  if (bytes <= 0 || flop <= 0 || side.seconds.value_or(0) <= 0) return nullptr;
  return {{"id", point.key},
          {"level", traffic.level},
          {"x", for_screen(flop / bytes)},
          {"y", for_screen(flop / *side.seconds)}};
}

json marks_of(const Report& report) {
  json marks = json::array();
  for (const ReportPoint& point : report.points) {
    const auto add = [&](const Side& side, const char* name) {
      for (const Traffic& traffic : side.traffic) {
        const bool has_roof = std::any_of(report.hardware.roofs.begin(), report.hardware.roofs.end(),
                                          [&](const Roof& roof) { return roof.level == traffic.level; });
        json mark = has_roof ? mark_of(point, side, shown_traffic(report, side, traffic.level)) : json();
        if (mark.is_null()) continue;
        mark["side"] = name;
        marks.push_back(std::move(mark));
      }
    };
    add(point.predicted, "predicted");
    if (point.measured) add(*point.measured, "measured");
  }
  return marks;
}

double highest_peak(const Hardware& hardware, const std::string& dtype) {
  double highest = 0;
  for (const Peak& peak : hardware.peaks)
    if (peak.dtype == dtype) highest = std::max(highest, peak.flop_per_second);
  return highest;
}

// Where a roof's name stands: where the roof enters the frame from the left or from below. Names of roofs that enter
// from below side by side would cover one another, so each next faster one stands a line higher.
double name_height(const Hardware& hardware, const Roof& roof, const Range& x, const Range& y) {
  const double line = std::pow(y.high / y.low, 20.0 / kHeight);
  double height = std::max(x.low * roof.bytes_per_second, y.low);
  if (height > y.low) return height;
  for (const Roof& other : hardware.roofs)
    if (other.bytes_per_second < roof.bytes_per_second) height *= line;
  return height;
}

// Per dtype and level the sloped roof from the left edge to its ridge (or the right edge when no peak is known).
json roofs_of(const Hardware& hardware, const std::vector<std::string>& dtypes, const Range& x, const Range& y) {
  json roofs = json::array();
  for (const std::string& dtype : dtypes) {
    const double peak = highest_peak(hardware, dtype);
    for (const Roof& roof : hardware.roofs) {
      const double end = peak > 0 ? std::min(x.high, peak / roof.bytes_per_second) : x.high;
      roofs.push_back({{"dtype", dtype},
                       {"level", roof.level},
                       {"x", x.low},
                       {"y", x.low * roof.bytes_per_second},
                       {"x2", end},
                       {"y2", end * roof.bytes_per_second},
                       {"name_x", name_height(hardware, roof, x, y) / roof.bytes_per_second},
                       {"name_y", name_height(hardware, roof, x, y)},
                       {"basis", roof.basis},
                       {"rate", with_si(roof.bytes_per_second, "B/s")},
                       {"label", level_short(roof.level) + " " + with_si(roof.bytes_per_second, "B/s")}});
    }
  }
  return roofs;
}

// Per dtype and instruction path the flat roof, from the ridge of the fastest memory to the right edge.
json peaks_of(const Hardware& hardware, const std::vector<std::string>& dtypes, const Range& x) {
  json peaks = json::array();
  double fastest = 0;
  for (const Roof& roof : hardware.roofs) fastest = std::max(fastest, roof.bytes_per_second);
  for (const Peak& peak : hardware.peaks) {
    if (!contains(dtypes, peak.dtype)) continue;
    const double start = fastest > 0 ? std::max(x.low, peak.flop_per_second / fastest) : x.low;
    const std::string rate = with_si(peak.flop_per_second, "FLOP/s");
    peaks.push_back({{"dtype", peak.dtype},
                     {"x", start},
                     {"x2", x.high},
                     {"y", peak.flop_per_second},
                     {"rate", rate},
                     {"label", peak.path + " " + rate}});
  }
  return peaks;
}

json scale_x(const Range& x) {
  return {{"field", "x"},
          {"type", "quantitative"},
          {"title", "Arithmetic intensity at the level (FLOP per byte)"},
          {"scale", {{"type", "log"}, {"domain", {x.low, x.high}}, {"nice", false}}},
          {"axis", {{"values", x.ticks()}, {"format", "~s"}}}};
}

json scale_y(const Range& y) {
  return {{"field", "y"},
          {"type", "quantitative"},
          {"title", "Performance (FLOP/s)"},
          {"scale", {{"type", "log"}, {"domain", {y.low, y.high}}, {"nice", false}}},
          {"axis", {{"values", y.ticks()}, {"format", "~s"}}}};
}

json level_scale(const Hardware& hardware, const std::vector<const char*>& range, const char* prefix) {
  json domain = json::array(), values = json::array();
  for (std::size_t i = 0; i < hardware.roofs.size(); ++i) {
    domain.push_back(hardware.roofs[i].level);
    if (prefix != nullptr) values.push_back("var(--" + std::string(prefix) + hardware.roofs[i].level + ", var(--ink))");
    else values.push_back(range[i % range.size()]);
  }
  return {{"domain", domain}, {"range", values}};
}

json of_dtype(const char* data, bool by_level) {
  json layer;
  layer["data"] = {{"name", data}};
  layer["transform"] =
      json::array({{{"filter", by_level ? "datum.dtype == dtype && (level == 'all' || datum.level == level)"
                                        : "datum.dtype == dtype"}}});
  return layer;
}

// The marks with their point's label, kernel and dtype, filtered by all three controls.
json chosen_marks() {
  const json from = {{"data", {{"name", "points"}}}, {"key", "key"}, {"fields", {"label", "kernel", "dtype"}}};
  json layer = of_dtype("marks", true);
  const json lookup = {{"lookup", "id"}, {"from", from}};
  layer["transform"].insert(layer["transform"].begin(), lookup);
  layer["transform"].push_back(
      {{"calculate", "replace(format(datum.y, '.4~s'), regexp('([a-zA-Z]?)$'), ' $1FLOP/s')"}, {"as", "rate"}});
  layer["transform"].push_back({{"filter", "kernel == 'all' || datum.kernel == kernel"}});
  return layer;
}

json color_of(const Hardware& hardware) {
  return {{"field", "level"}, {"type", "nominal"}, {"legend", nullptr}, {"scale", level_scale(hardware, {}, "")}};
}

json roof_layers(const Hardware& hardware, const Range& x, const Range& y) {
  json line = of_dtype("roofs", true);
  line["mark"] = {{"type", "rule"}, {"strokeWidth", 2}, {"clip", true}};
  line["encoding"] = {
      {"x", scale_x(x)},
      {"y", scale_y(y)},
      {"x2", {{"field", "x2"}}},
      {"y2", {{"field", "y2"}}},
      {"color", color_of(hardware)},
      {"tooltip", json::array({{{"field", "level"}, {"title", "roof"}}, {{"field", "rate"}}, {{"field", "basis"}}})}};
  json peak = of_dtype("peaks", false);
  peak["mark"] = {{"type", "rule"}, {"strokeWidth", 2}, {"color", "var(--ink)"}, {"clip", true}};
  peak["encoding"] = {{"x", scale_x(x)},
                      {"y", scale_y(y)},
                      {"x2", {{"field", "x2"}}},
                      {"tooltip", json::array({{{"field", "label"}, {"title", "peak"}}})}};
  return json::array({line, peak});
}

json halo_of(json text) {
  text["mark"].update(
      {{"stroke", "var(--paper)"}, {"strokeWidth", 4}, {"strokeJoin", "round"}, {"color", "var(--paper)"}});
  return text;
}

json peak_text_layers(const Range& y) {
  json text = of_dtype("peaks", false);
  text["mark"] = {{"type", "text"}, {"align", "right"}, {"dy", -9}, {"fontSize", 11}, {"fontWeight", 600}};
  text["encoding"] = {
      {"x", {{"field", "x2"}, {"type", "quantitative"}}}, {"y", scale_y(y)}, {"text", {{"field", "label"}}}};
  return json::array({halo_of(text), text});
}

// The roof's name, to the right of its line, with a halo over what is below.
json roof_text_layers(const Hardware& hardware, const Range& x, const Range& y) {
  json text = of_dtype("roofs", true);
  text["mark"] = {{"type", "text"}, {"align", "left"}, {"dx", 14}, {"dy", -7}, {"fontSize", 11}, {"fontWeight", 600}};
  json at_x = scale_x(x), at_y = scale_y(y);
  at_x["field"] = "name_x";
  at_y["field"] = "name_y";
  text["encoding"] = {{"x", at_x}, {"y", at_y}, {"text", {{"field", "label"}}}};
  const json halo = halo_of(text);
  text["encoding"]["color"] = color_of(hardware);
  return json::array({halo, text});
}

json point_layers(const Hardware& hardware, const Range& x, const Range& y) {
  const json faded = {{"condition", {{"param", "hover"}, {"value", 1}}}, {"value", 0.12}};
  json join = chosen_marks();  // a line of two ends: predicted and measured
  join["mark"] = {{"type", "line"}, {"strokeWidth", 1}, {"clip", true}};
  join["encoding"] = {{"x", scale_x(x)},
                      {"y", scale_y(y)},
                      {"detail", {{"field", "id"}}},
                      {"order", {{"field", "side"}}},
                      {"color", color_of(hardware)},
                      {"opacity", faded}};
  json point = chosen_marks();
  const json hover = {{"type", "point"}, {"on", "pointerover"}, {"clear", "pointerout"}, {"fields", {"id"}}};
  point["params"] = json::array({{{"name", "hover"}, {"select", hover}}});
  point["mark"] = {{"type", "point"},    {"filled", true}, {"size", 55},
                   {"strokeWidth", 1.4}, {"clip", true},   {"cursor", "pointer"}};
  json stroke = color_of(hardware), shape = color_of(hardware), measured = color_of(hardware);
  shape["scale"] = level_scale(hardware, {"circle", "square", "triangle-up", "diamond"}, nullptr);
  measured["test"] = "datum.side == 'measured'";
  point["encoding"] = {
      {"x", scale_x(x)},
      {"y", scale_y(y)},
      {"stroke", stroke},
      {"shape", shape},
      {"opacity", faded},
      {"fill", {{"condition", measured}, {"value", "var(--paper)"}}},
      {"tooltip",
       json::array({{{"field", "label"}, {"title", "point"}},
                    {{"field", "kernel"}},
                    {{"field", "side"}, {"title", "value is"}},
                    {{"field", "level"}},
                    {{"field", "x"}, {"type", "quantitative"}, {"title", "FLOP per byte"}, {"format", ",.4~r"}},
                    {{"field", "rate"}, {"title", "performance"}}})}};
  return json::array({join, point});
}

}  // namespace

std::vector<std::string> roofline_dtypes(const Report& report) {
  std::map<std::string, int> uses;
  for (const ReportPoint& point : report.points) ++uses[point.dtype];
  std::vector<std::string> dtypes;
  for (const auto& [dtype, n] : uses)
    if (!dtype.empty()) dtypes.push_back(dtype);
  std::stable_sort(dtypes.begin(), dtypes.end(), [&](const auto& a, const auto& b) { return uses[a] > uses[b]; });
  return dtypes;
}

json roofline_chart(const Report& report) {
  const Hardware& hardware = report.hardware;
  const std::vector<std::string> dtypes = roofline_dtypes(report);
  const json marks = marks_of(report);
  if (marks.empty() || hardware.roofs.empty() || dtypes.empty()) return nullptr;
  Range x, y;
  for (const json& mark : marks) x.cover(mark["x"].get<double>()), y.cover(mark["y"].get<double>());
  x.cover(x.low / 5);  // room for the names of the roofs, left of the marks
  y.cover(y.low / 1.5);
  for (const std::string& dtype : dtypes)
    if (const double peak = highest_peak(hardware, dtype); peak > 0) {
      y.cover(peak * 1.3);
      for (const Roof& roof : hardware.roofs) x.cover(peak / roof.bytes_per_second);
    }
  x.round_outwards();
  y.round_outwards();
  json spec = chart_base("Roofline of " + hardware.name +
                             ": performance over arithmetic intensity, both logarithmic, once a memory "
                             "level. Hollow marks are predicted, filled marks measured, a line joins the two.",
                         kHeight);
  spec["params"] = json::array({{{"name", "dtype"}, {"value", dtypes.front()}},
                                {{"name", "level"}, {"value", kEverything}},
                                {{"name", "kernel"}, {"value", kEverything}}});
  spec["datasets"] = {
      {"marks", marks}, {"roofs", roofs_of(hardware, dtypes, x, y)}, {"peaks", peaks_of(hardware, dtypes, x)}};
  spec["layer"] = roof_layers(hardware, x, y);
  for (json& layer : point_layers(hardware, x, y)) spec["layer"].push_back(layer);
  for (json& layer : peak_text_layers(y)) spec["layer"].push_back(layer);
  for (json& layer : roof_text_layers(hardware, x, y)) spec["layer"].push_back(layer);
  return spec;
}

}  // namespace tilescope::report
