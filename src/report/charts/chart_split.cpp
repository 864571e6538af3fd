#include <fmt/format.h>

#include <algorithm>

#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

constexpr int kSplitRowHeight = 58;  // a line of text, the bar, the marks of the units
constexpr double kSplitLargestShown = 2;

// Shares of the measured time, one object a record; "b_xu": the busiest unit's part of the bar, "u_xu": a unit's mark.
json split_rows(const Pictures& pictures) {
  json rows = json::array();
  const auto share = [](double seconds, const Split& split) {
    return json::parse(fmt::format("{:.5g}", seconds / split.measured));
  };
  for (const Split& split : pictures.splits) {
    json row = {{"id", fmt::format("{:04}", rows.size())},
                {"kernel", split.kernel},
                {"label", split.label},
                {"ours", !split.third_party},
                {"longest", split.longest},
                {"predicted", quantity_short("seconds", split.predicted)},
                {"measured", quantity_short("seconds", split.measured)},
                {"error", error_text(split.predicted / split.measured)},
                {"total", share(split.predicted, split)},
                {"b_waits", share(split.waits, split)},
                {"b_idle", share(split.idle, split)},
                {"b_launch", share(split.launch, split)}};
    for (const auto& [unit, seconds] : split.busiest) row["b_" + unit] = share(seconds, split);
    for (const auto& [unit, seconds] : split.units)
      if (seconds > 0) row["u_" + unit] = share(seconds, split);
    rows.push_back(std::move(row));
  }
  return rows;
}

json split_y() {
  return {{"field", "id"}, {"type", "nominal"}, {"sort", "ascending"}, {"title", nullptr}, {"axis", nullptr}};
}

json x_of(const char* field, double most) {
  json ticks = json::array();
  for (double tick = 0; tick <= most; tick += 0.25) ticks.push_back(tick);
  return {{"field", field},
          {"type", "quantitative"},
          {"title", "share of the measured time"},
          {"stack", nullptr},
          {"scale", {{"domain", {0, most}}, {"nice", false}, {"clamp", true}}},
          {"axis",
           {{"orient", "top"},
            {"labelExpr", "format(datum.value, '~%') + (datum.value == 1 ? ' measured' : '')"},
            {"values", ticks},
            {"labelOverlap", true},
            {"domain", false}}}};
}

json names(const char* prefix) {
  json list = json::array();
  for (const UnitName& unit : kUnits) list.push_back(std::string(prefix) + unit.key);
  return list;
}

constexpr const char* kOtherParts[] = {"waits", "idle", "launch"};

// Fill, stroke and shape by the part's key. The charts' scales are shared by bars and marks, so both state all of them.
json by_part(json range) {
  json domain = json::array();
  for (const UnitName& unit : kUnits) domain.push_back(unit.key);
  for (const char* part : kOtherParts) domain.push_back(part);
  return {{"field", "key"},
          {"type", "nominal"},
          {"legend", nullptr},
          {"scale", {{"domain", domain}, {"range", std::move(range)}}}};
}

json colours() {
  json range = json::array();
  for (const UnitName& unit : kUnits) range.push_back("var(--" + std::string(unit.key) + ")");
  for (const char* part : kOtherParts) range.push_back("var(--" + std::string(part) + ")");
  return by_part(range);
}

json tooltip(std::initializer_list<std::pair<const char*, const char*>> fields) {
  json list = json::array({{{"field", "kernel"}}, {{"field", "label"}, {"title", "record"}}});
  for (const auto& [field, title] : fields) list.push_back({{"field", field}, {"title", title}});
  return list;
}

// An expression that turns the key of a part into words.
std::string words_of(const char* field) {
  std::string text;
  for (const UnitName& unit : kUnits) text += fmt::format("datum.{} == '{}' ? '{}' : ", field, unit.key, unit.name);
  return text +
         fmt::format(
             "datum.{} == 'waits' ? 'it waits' : datum.{} == 'idle' ? 'multiprocessors without a block' : 'launch'",
             field, field);
}

json bar_layer(double most) {
  json fields = names("b_");
  for (const char* part : kOtherParts) fields.push_back("b_" + std::string(part));
  std::string expression_list = fields.dump();
  std::replace(expression_list.begin(), expression_list.end(), '"', '\'');
  json bar;
  bar["transform"] = json::array(
      {{{"fold", fields}, {"as", {"part", "share"}}},
       {{"filter", "isValid(datum.share) && datum.share > 0"}},
       {{"calculate", "indexof(" + expression_list + ", datum.part)"}, {"as", "place"}},
       {{"calculate", "substring(datum.part, 2)"}, {"as", "key"}},
       {{"calculate", words_of("key")}, {"as", "what"}},
       {{"calculate", "format(datum.share / datum.total, '.1%') + ' of the predicted time'"}, {"as", "much"}},
       {{"stack", "share"},
        {"groupby", {"id"}},
        {"sort", json::array({{{"field", "place"}}})},
        {"as", {"from", "to"}}}});
  bar["mark"] = {{"type", "bar"}, {"height", 15}, {"stroke", "var(--ink-2)"}, {"strokeWidth", 0.7}};
  bar["encoding"] = {{"y", split_y()},
                     {"x", x_of("from", most)},
                     {"x2", {{"field", "to"}}},
                     {"fill", colours()},
                     {"tooltip", tooltip({{"what", "part"},
                                          {"much", "is"},
                                          {"predicted", "predicted"},
                                          {"measured", "measured"},
                                          {"error", "error"}})}};
  return bar;
}

// Each unit alone, at full rate: a mark below the bar. The busiest one's stands at the end of its part.
json unit_layer(double most) {
  const json shapes = json::array({"diamond", "triangle-up", "cross", "triangle-down", "stroke", "triangle-right",
                                   "square", "circle", "circle", "circle", "circle"});
  json mark;
  mark["transform"] = json::array(
      {{{"fold", names("u_")}, {"as", {"part", "share"}}},
       {{"filter", "isValid(datum.share)"}},
       {{"calculate", "substring(datum.part, 2)"}, {"as", "key"}},
       {{"calculate", words_of("key")}, {"as", "what"}},
       {{"calculate", "format(datum.share / datum.total, '.1%') + ' of the predicted time'"}, {"as", "much"}}});
  mark["mark"] = {{"type", "point"},    {"filled", true}, {"size", 52},
                  {"strokeWidth", 1.4}, {"yOffset", 16},  {"opacity", 1}};
  mark["encoding"] = {{"y", split_y()},           {"x", x_of("share", most)},
                      {"fill", colours()},        {"stroke", colours()},
                      {"shape", by_part(shapes)}, {"tooltip", tooltip({{"what", "unit"}, {"much", "would be busy"}})}};
  return mark;
}

json text_layers(double most) {
  json text;
  // A group of kernels names each; on a narrow screen it leaves out which record, which the tooltip says.
  text["transform"] =
      json::array({{{"calculate",
                     "width < 760 ? datum.predicted + ' / ' + datum.measured : datum.predicted + ' predicted, ' + "
                     "datum.measured + ' measured'"},
                    {"as", "times"}},
                   {{"calculate", fmt::format("kernel != '{}' && kernel != '{}' ? datum.label : width < 760 ? "
                                              "datum.kernel : datum.kernel + ' · ' + datum.label",
                                              kOurs, kTheirs)},
                    {"as", "name"}},
                   {{"calculate", "width < 760 ? datum.times + ' · ' + datum.name : datum.name + ' · ' + datum.times"},
                    {"as", "line"}}});
  text["mark"] = {
      {"type", "text"}, {"align", "left"}, {"baseline", "bottom"}, {"yOffset", -11}, {"limit", {{"expr", "width"}}}};
  text["encoding"] = {{"y", split_y()}, {"x", {{"value", 0}}}, {"text", {{"field", "line"}}}};
  json line;
  line["data"] = {{"values", json::array({{{"one", 1}}})}};
  line["mark"] = {{"type", "rule"}, {"color", "var(--ink)"}, {"strokeWidth", 1.4}, {"strokeDash", {5, 3}}};
  line["encoding"] = {{"x", x_of("one", most)}};
  json halo = text;
  halo["mark"].update(
      {{"stroke", "var(--paper)"}, {"strokeWidth", 4}, {"strokeJoin", "round"}, {"color", "var(--paper)"}});
  return json::array({line, halo, text});
}

}  // namespace

json split_chart(const Report& report) {
  if (!report.pictures || report.pictures->splits.empty()) return nullptr;
  const Pictures& pictures = *report.pictures;
  double most = 1.1;
  for (const Split& split : pictures.splits)
    most = std::max(most, std::min(kSplitLargestShown, 1.05 * split.predicted / split.measured));
  json spec = chart_base(
      "Predicted time of records as bars, in shares of the measured time: the busiest unit at full rate, what it waits "
      "for, multiprocessors without a block, "
      "launches. Marks below a bar: what each unit would take alone.",
      kSplitRowHeight);
  // The height follows the rows that the control chooses. Vega-Lite's own way to say so, a step, warns of the
  // container's width; this is what it would compile to.
  spec["usermeta"]["embedOptions"]["patch"] = json::array(
      {{{"op", "test"}, {"path", "/scales/1/name"}, {"value", "y"}},
       {{"op", "replace"}, {"path", "/scales/1/range"}, {"value", {{"step", kSplitRowHeight}}}},
       {{"op", "remove"}, {"path", "/height"}},
       {{"op", "add"},
        {"path", "/signals/-"},
        {"value", {{"name", "height"}, {"update", fmt::format("max(1, domain('y').length) * {}", kSplitRowHeight)}}}}});
  spec["data"] = {{"values", split_rows(pictures)}};
  const bool ours = std::any_of(pictures.splits.begin(), pictures.splits.end(),
                                [](const Split& split) { return !split.third_party; });
  spec["params"] = json::array({{{"name", "kernel"}, {"value", ours ? kOurs : kTheirs}}});
  spec["transform"] =
      json::array({{{"filter", fmt::format("kernel == '{}' ? datum.longest && datum.ours : kernel == '{}' ? "
                                           "datum.longest && !datum.ours : datum.kernel == kernel",
                                           kOurs, kTheirs)}}});
  spec["layer"] = json::array({bar_layer(most), unit_layer(most)});
  for (json& layer : text_layers(most)) spec["layer"].push_back(layer);
  return spec;
}

}  // namespace tilescope::report
