#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/contains.h"
#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

// Shown errors end here; a mark beyond sits on the edge and its tooltip says the real value.
constexpr double kErrorLargestShown = 10;

struct Strips {
  json order = json::array();  // names of the quantities, in the order of the comparison
  json bands = json::array();
  double low = -0.02, high = 0.02;  // what is shown of the axis
};

Strips strips_of(const Report& report) {
  Strips strips;
  std::map<std::string, std::set<double>> tolerances;
  for (const ReportRow& row : report.rows) {
    if (!row.ratio) continue;
    const std::string name = quantity_name(row.quantity, row.level);
    if (!contains(strips.order, name)) strips.order.push_back(name);
    strips.low = std::min(strips.low, *row.ratio - 1);
    strips.high = std::max(strips.high, std::min(*row.ratio - 1, kErrorLargestShown));
    if (row.tolerance) tolerances[name].insert(*row.tolerance);
  }
  for (const auto& [name, values] : tolerances)
    for (const double value : values) {
      strips.bands.push_back({{"name", name}, {"low", -value}, {"high", value}});
      strips.low = std::min(strips.low, -value);
      strips.high = std::max(strips.high, value);
    }
  return strips;
}

json ticks_within(const Strips& strips) {
  json ticks = json::array();
  for (const double t : {-1., -0.3, -0.1, -0.03, -0.01, 0., 0.01, 0.03, 0.1, 0.3, 1., 3., 10.})
    if (t >= strips.low * 1.3 && t <= strips.high * 1.3) ticks.push_back(t);
  return ticks;
}

json x_of(const char* field, const Strips& strips) {
  const json scale = {
      {"type", "symlog"}, {"constant", 0.005}, {"domain", {strips.low * 1.3, strips.high * 1.3}}, {"nice", false}};
  const json axis = {{"values", ticks_within(strips)},
                     {"labelExpr", "(datum.value > 0 ? '+' : '') + format(datum.value, '~%')"},
                     {"labelOverlap", true}};
  return {{"field", field},
          {"type", "quantitative"},
          {"title", "predicted / measured − 1"},
          {"scale", scale},
          {"axis", axis}};
}

json error_y(const json& order) {
  return {{"field", "name"},
          {"type", "nominal"},
          {"title", nullptr},
          {"sort", order},
          {"scale", {{"domain", order}, {"paddingInner", 0.25}}},
          {"axis", {{"domain", false}, {"ticks", false}, {"grid", true}, {"tickBand", "extent"}, {"labelLimit", 180}}}};
}

json verdict_scale(const std::vector<const char*>& range) {
  return {{"domain", {"pass", "fail", "info", "allowed"}}, {"range", range}};
}

json marks_layer(const Strips& strips) {
  json layer;
  layer["data"] = {{"name", "rows"}};
  // Equal errors would cover one another: lanes 0 to 6 spread them over the strip's height, which is layout only.
  layer["transform"] =
      json::array({{{"filter", "isValid(datum.ratio) && (kernel == 'all' || datum.kernel == kernel)"}},
                   {{"calculate", fmt::format("clamp(datum.ratio - 1, -1, {})", kErrorLargestShown)}, {"as", "e"}},
                   {{"calculate",
                     "datum.verdict == '' ? 'info' : datum.verdict == 'pass' && isValid(datum.tolerance) && "
                     "abs(datum.ratio - 1) > datum.tolerance ? 'allowed' : datum.verdict"},
                    {"as", "kind"}},
                   {{"window", json::array({{{"op", "row_number"}, {"as", "n"}}})}, {"groupby", {"name"}}},
                   {{"calculate", "datum.n * 3 % 7"}, {"as", "lane"}}});
  layer["mark"] = {{"type", "point"}, {"filled", true}, {"strokeWidth", 1.3}, {"opacity", 0.85}, {"clip", true}};
  const json field = {{"field", "kind"}, {"type", "nominal"}, {"legend", nullptr}};
  json fill = field, stroke = field, shape = field;
  fill["scale"] = verdict_scale({"var(--pass)", "var(--fail)", "var(--paper)", "var(--paper)"});
  stroke["scale"] = verdict_scale({"var(--pass)", "var(--fail)", "var(--info)", "var(--pass)"});
  shape["scale"] = verdict_scale({"circle", "cross", "diamond", "circle"});
  const json size = {{"condition", {{"test", "datum.kind == 'fail'"}, {"value", 130}}}, {"value", 34}};
  const json lane = {{"field", "lane"}, {"type", "quantitative"}, {"scale", {{"domain", {-2, 8}}}}};
  const auto shown = [](const char* name, const char* title) { return json{{"field", name}, {"title", title}}; };
  const json tooltip =
      json::array({shown("label", "point"), shown("name", "quantity"), shown("predicted_text", "predicted"),
                   shown("measured_text", "measured"), shown("error", "error"), shown("tolerance_text", "tolerance"),
                   shown("verdict", "verdict")});
  layer["encoding"] = {{"x", x_of("e", strips)}, {"y", error_y(strips.order)}, {"yOffset", lane},
                       {"fill", fill},           {"stroke", stroke},           {"shape", shape},
                       {"size", size},           {"tooltip", tooltip}};
  return layer;
}

}  // namespace

json error_chart(const Report& report) {
  const Strips strips = strips_of(report);
  if (strips.order.empty()) return nullptr;
  json spec = chart_base(
      "Relative error of every comparison, one strip a quantity, with the tolerance as a band. Discs are within "
      "tolerance, crosses outside, hollow diamonds are reported without a tolerance.",
      static_cast<int>(strips.order.size()) * 44);
  spec["params"] = json::array({{{"name", "kernel"}, {"value", kEverything}}});
  json band;
  band["data"] = {{"values", strips.bands}};
  band["mark"] = {
      {"type", "rect"},
      {"color", "var(--band)"},
      {"stroke", "var(--band-edge)"},
      {"strokeWidth", 1},
      {"tooltip", nullptr},
      {"height", {{"expr", "bandwidth('y')"}}}};  // with a yOffset in the chart the default height is 18 pixels
  band["encoding"] = {{"x", x_of("low", strips)}, {"x2", {{"field", "high"}}}, {"y", error_y(strips.order)}};
  json zero;
  zero["data"] = {{"values", json::array({{{"e", 0}}})}};
  zero["mark"] = {{"type", "rule"}, {"color", "var(--ink)"}, {"strokeWidth", 1}};
  zero["encoding"] = {{"x", x_of("e", strips)}};
  spec["layer"] = json::array({band, zero, marks_layer(strips)});
  return spec;
}

}  // namespace tilescope::report
