#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/chart.h"
#include "report/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

// Shown errors end here; a mark beyond sits on the edge and its tooltip says the real value.
constexpr double kLargestShown = 10;

struct Strips {
  json marks = json::array(), bands = json::array();
  double widest = 0.02;
};

Strips strips_of(const Report& report) {
  Strips strips;
  std::map<std::string, std::set<double>> tolerances;
  std::map<std::string, int> count;
  for (const Row& row : report.rows) {
    if (!row.ratio) continue;
    const std::string name = quantity_name(row.quantity, row.level);
    const double error = *row.ratio - 1;
    strips.widest = std::max(strips.widest, std::min(std::abs(error), kLargestShown));
    // Equal errors would cover one another: the lanes 0..6 spread them over the strip's height, layout only.
    strips.marks.push_back({{"name", name}, {"kernel", row.kernel}, {"label", label_of(report, row.point)},
                            {"e", std::clamp(error, -1.0, kLargestShown)}, {"verdict", row.verdict.empty() ? "info" : row.verdict},
                            {"lane", count[name]++ * 3 % 7},
                            {"error", error_text(row.ratio)}, {"p", quantity_short(row.quantity, row.predicted)},
                            {"m", quantity_short(row.quantity, row.measured)},
                            {"tolerance", row.tolerance ? "± " + percent_text(row.tolerance) : "none"}});
    if (row.tolerance) tolerances[name].insert(*row.tolerance);
  }
  for (const auto& [name, values] : tolerances)
    for (const double value : values) {
      strips.bands.push_back({{"name", name}, {"low", -value}, {"high", value}});
      strips.widest = std::max(strips.widest, value);
    }
  return strips;
}

json order_of(const json& marks) {
  json names = json::array();
  for (const json& mark : marks)
    if (std::find(names.begin(), names.end(), mark["name"]) == names.end()) names.push_back(mark["name"]);
  return names;
}

json ticks_within(double widest) {
  json ticks = json::array();
  for (const double t : {-10., -3., -1., -0.3, -0.1, -0.03, -0.01, 0., 0.01, 0.03, 0.1, 0.3, 1., 3., 10.})
    if (std::abs(t) <= widest * 1.3) ticks.push_back(t);
  return ticks;
}

json x_of(const char* field, double widest) {
  return {{"field", field}, {"type", "quantitative"}, {"title", "measured / predicted − 1"},
          {"scale", {{"type", "symlog"}, {"constant", 0.005}, {"domain", {-widest * 1.3, widest * 1.3}}, {"nice", false}}},
          {"axis", {{"values", ticks_within(widest)}, {"labelExpr", "(datum.value > 0 ? '+' : '') + format(datum.value, '~%')"},
                    {"labelOverlap", true}}}};
}

json y_of(const json& order) {
  return {{"field", "name"}, {"type", "nominal"}, {"title", nullptr}, {"sort", order}, {"scale", {{"domain", order}, {"paddingInner", 0.25}}},
          {"axis", {{"domain", false}, {"ticks", false}, {"grid", true}, {"tickBand", "extent"}, {"labelLimit", 180}}}};
}

json verdict_scale(const std::vector<const char*>& range) {
  return {{"domain", {"pass", "fail", "info"}}, {"range", range}};
}

}  // namespace

json error_chart(const Report& report) {
  const Strips strips = strips_of(report);
  if (strips.marks.empty()) return nullptr;
  const json order = order_of(strips.marks);
  json spec = chart_base("Relative error of every comparison, one strip a quantity, with the tolerance as a band. Discs are within "
                         "tolerance, crosses outside, hollow diamonds are reported without a tolerance.",
                         static_cast<int>(order.size()) * 44);
  spec["params"] = json::array({{{"name", "kernel"}, {"value", kEverything}}});
  json band;
  band["data"] = {{"values", strips.bands}};
  band["mark"] = {{"type", "bar"}, {"color", "var(--band)"}, {"stroke", "var(--band-edge)"}, {"strokeWidth", 1}};
  band["encoding"] = {{"x", x_of("low", strips.widest)}, {"x2", {{"field", "high"}}}, {"y", y_of(order)}};
  json zero;
  zero["data"] = {{"values", json::array({{{"e", 0}}})}};
  zero["mark"] = {{"type", "rule"}, {"color", "var(--ink)"}, {"strokeWidth", 1}};
  zero["encoding"] = {{"x", x_of("e", strips.widest)}};
  json point;
  point["data"] = {{"values", strips.marks}};
  point["transform"] = json::array({{{"filter", "kernel == 'all' || datum.kernel == kernel"}}});
  point["mark"] = {{"type", "point"}, {"filled", true}, {"strokeWidth", 1.3}, {"opacity", 0.85}, {"clip", true}};
  const json field = {{"field", "verdict"}, {"type", "nominal"}, {"legend", nullptr}};
  json fill = field, stroke = field, shape = field, size = field;
  fill["scale"] = verdict_scale({"var(--pass)", "var(--fail)", "var(--paper)"});
  stroke["scale"] = verdict_scale({"var(--pass)", "var(--fail)", "var(--info)"});
  shape["scale"] = verdict_scale({"circle", "cross", "diamond"});
  size["scale"] = {{"domain", {"pass", "fail", "info"}}, {"range", {30, 110, 40}}};
  const json lane = {{"field", "lane"}, {"type", "quantitative"}, {"scale", {{"domain", {-2, 8}}}}};
  point["encoding"] = {{"x", x_of("e", strips.widest)}, {"y", y_of(order)}, {"yOffset", lane}, {"fill", fill}, {"stroke", stroke}, {"shape", shape}, {"size", size},
                       {"tooltip", json::array({{{"field", "label"}, {"title", "point"}}, {{"field", "name"}, {"title", "quantity"}},
                                                {{"field", "p"}, {"title", "predicted"}}, {{"field", "m"}, {"title", "measured"}},
                                                {{"field", "error"}}, {{"field", "tolerance"}}, {{"field", "verdict"}}})}};
  spec["layer"] = json::array({band, zero, point});
  return spec;
}

}  // namespace tilescope::report
