#include <algorithm>
#include <set>

#include "base/level.h"
#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

// One object a point: predicted and measured, read and write. An absent number is left out, so its bar is too.
json traffic_rows(const Report& report, const std::string& level) {
  json rows = json::array();
  const bool operands = only_operands(report, level);
  bool any = false;
  for (const ReportPoint& point : report.points) {
    json row = {{"id", point.key}};
    const auto put = [&](const char* key, const Number& value) {
      if (value) row[key] = *value;
    };
    const Traffic predicted = shown_traffic(point.predicted, level, operands);
    put("pr", predicted.read_bytes), put("pw", predicted.write_bytes);
    if (point.measured) {
      const Traffic measured = shown_traffic(*point.measured, level, operands);
      put("mr", measured.read_bytes), put("mw", measured.write_bytes);
    }
    any = any || row.size() > 1;
    if (row.size() == 1) row["pr"] = 0, row["none"] = true;  // its GPU does not have the level, or nothing uses it
    rows.push_back(std::move(row));
  }
  return any ? rows : json::array();
}

json calculate(const char* expression, const char* as) { return {{"calculate", expression}, {"as", as}}; }

// With a place for measured bars where the report has any.
json traffic_y(bool measured) {
  json sides = json::array({"predicted"});
  if (measured) sides.push_back("measured");
  return {{"field", "side"},
          {"type", "nominal"},
          {"title", nullptr},
          {"sort", sides},
          {"scale", {{"domain", sides}}},
          {"axis", {{"domain", false}, {"ticks", false}}}};
}

json x_of(const char* field) {
  return {{"field", field},
          {"type", "quantitative"},
          {"title", nullptr},
          {"scale", {{"zero", true}, {"nice", true}}},
          {"axis",
           {{"labelExpr", "replace(format(datum.value, '~s'), regexp('([a-zA-Z]?)$'), ' $1B')"},
            {"tickCount", 3},
            {"labelOverlap", "greedy"},
            {"labelSeparation", 6}}}};
}

}  // namespace

std::vector<std::string> traffic_levels(const Report& report) {
  std::set<std::string> present;
  for (const ReportPoint& point : report.points) {
    for (const Traffic& t : point.predicted.traffic) present.insert(t.level);
    if (point.measured)
      for (const Traffic& t : point.measured->traffic) present.insert(t.level);
  }
  std::vector<std::string> levels;
  for (const std::string& level : kind_names<LevelId>())  // outermost first; any other after them
    if (present.erase(level) > 0) levels.push_back(level);
  levels.insert(levels.end(), present.begin(), present.end());
  return levels;
}

json traffic_chart(const Report& report, const std::string& level) {
  const json rows = traffic_rows(report, level);
  if (rows.empty()) return nullptr;
  const bool measured = std::any_of(report.points.begin(), report.points.end(),
                                    [](const ReportPoint& point) { return point.measured.has_value(); });
  json spec = chart_base(
      "Bytes " + level_name(level) + " reads and writes for the chosen point: predicted above, measured below.",
      measured ? 92 : 46);
  spec["padding"] = {{"left", 4}, {"right", 84}, {"top", 4}, {"bottom", 4}};
  spec["data"] = {{"values", rows}};
  spec["params"] = json::array({{{"name", "point"}, {"value", rows.front()["id"]}}});
  spec["transform"] = json::array({{{"filter", "datum.id == point"}}});
  const json folded = json::array({{{"fold", {"pr", "pw", "mr", "mw"}}, {"as", {"key", "bytes"}}},
                                   {{"filter", "isValid(datum.bytes)"}},
                                   calculate("datum.key[0] == 'p' ? 'predicted' : 'measured'", "side"),
                                   calculate("datum.key[1] == 'r' ? 'read' : 'write'", "direction")});
  json bar;
  bar["transform"] = folded;
  bar["mark"] = {{"type", "bar"}, {"stroke", "var(--ink)"}, {"strokeWidth", 1}, {"height", 24}};
  bar["encoding"] = {
      {"y", traffic_y(measured)},
      {"x", x_of("bytes")},
      {"color",
       {{"field", "direction"},
        {"type", "nominal"},
        {"legend", nullptr},
        {"scale", {{"domain", {"read", "write"}}, {"range", {"var(--" + level + ", var(--ink-2))", "var(--paper)"}}}}}},
      {"order", {{"field", "direction"}}},
      {"tooltip", json::array({{{"field", "side"}, {"title", "value is"}},
                               {{"field", "direction"}},
                               {{"field", "bytes"}, {"type", "quantitative"}, {"format", ",d"}}})}};
  json total;
  total["transform"] = folded;
  for (const json& step : json::array(
           {{{"aggregate", json::array({{{"op", "sum"}, {"field", "bytes"}, {"as", "total"}}})}, {"groupby", {"side"}}},
            calculate("datum.total === 0 ? '' : replace(format(datum.total, '.4s'), regexp('([a-zA-Z]?)$'), ' $1B')",
                      "text")}))
    total["transform"].push_back(step);
  total["mark"] = {{"type", "text"}, {"align", "left"}, {"dx", 6}};
  total["encoding"] = {{"y", traffic_y(measured)}, {"x", x_of("total")}, {"text", {{"field", "text"}}}};
  json absent;  // no bar is not a bar of zero bytes: say so
  absent["transform"] =
      json::array({{{"filter", "!isValid(datum.mr) && !isValid(datum.mw)"}}, calculate("'measured'", "side")});
  absent["mark"] = {{"type", "text"},         {"align", "left"},       {"dx", 6},
                    {"text", "not measured"}, {"fontStyle", "italic"}, {"color", "var(--ink-2)"}};
  absent["encoding"] = {{"y", traffic_y(measured)}, {"x", {{"value", 0}}}};
  bar["encoding"]["strokeOpacity"] = {{"condition", {{"test", "datum.bytes > 0"}, {"value", 1}}}, {"value", 0}};
  json none;
  none["transform"] = json::array({{{"filter", "datum.none"}}, calculate("'predicted'", "side")});
  none["mark"] = {{"type", "text"}, {"align", "left"},       {"dx", 6},
                  {"text", "none"}, {"fontStyle", "italic"}, {"color", "var(--ink-2)"}};
  none["encoding"] = {{"y", traffic_y(measured)}, {"x", {{"value", 0}}}};
  spec["layer"] = json::array({bar, total, none});
  if (measured) spec["layer"].push_back(absent);
  return spec;
}

}  // namespace tilescope::report
