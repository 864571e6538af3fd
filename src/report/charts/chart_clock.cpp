#include <fmt/format.h>

#include <algorithm>

#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

constexpr int kClockRowHeight = 21;

json clock_rows(const Pictures& pictures) {
  json rows = json::array();
  for (const ClockRow& row : pictures.clocks) {
    json one = {{"kernel", row.kernel},
                {"label", row.label},
                {"time", quantity_short("seconds", row.seconds)},
                {"ph", row.predicted_hz / 1e9},
                {"nh", row.nvml_hz / 1e9},
                {"pw", row.predicted_watts},
                {"nw", row.nvml_watts},
                {"cap", row.reports_cap},
                {"model", row.at_limit ? "yes" : "no"},
                {"gpu", row.reports_cap ? "yes" : "no"}};
    if (row.low_hz && row.high_hz) one["lh"] = *row.low_hz / 1e9, one["hh"] = *row.high_hz / 1e9;
    rows.push_back(std::move(one));
  }
  return rows;
}

json clock_y(const json& rows) {
  json order = json::array();
  for (const json& row : rows) order.push_back(row["kernel"]);
  return {{"field", "kernel"},
          {"type", "nominal"},
          {"title", nullptr},
          {"sort", order},
          {"axis",
           {{"domain", false},
            {"ticks", false},
            {"grid", true},
            {"tickBand", "center"},
            {"labelLimit", {{"expr", "containerSize()[0] < 420 ? 120 : 190"}}}}}};
}

json x_of(const char* field, const char* title, double low, double high) {
  return {{"field", field},
          {"type", "quantitative"},
          {"title", title},
          {"scale", {{"domain", {low, high}}, {"zero", false}, {"nice", false}}},
          {"axis", {{"tickCount", 5}, {"orient", "bottom"}}}};
}

json tooltip() {
  const auto shown = [](const char* field, const char* title, const char* format) {
    return json{{"field", field}, {"type", "quantitative"}, {"title", title}, {"format", format}};
  };
  return json::array({{{"field", "kernel"}},
                      {{"field", "label"}, {"title", "record"}},
                      {{"field", "time"}, {"title", "measured time"}},
                      shown("ph", "predicted GHz", ".3f"),
                      shown("nh", "NVML's GHz", ".3f"),
                      shown("lh", "cycles/s from, GHz", ".3f"),
                      shown("hh", "cycles/s to, GHz", ".3f"),
                      shown("pw", "predicted W", ".0f"),
                      shown("nw", "NVML's W, average", ".0f"),
                      {{"field", "model"}, {"title", "at the limit (model)"}},
                      {{"field", "gpu"}, {"title", "power cap (GPU)"}}});
}

json point(const char* shape, bool filled, int size) {
  return {{"type", "point"},        {"shape", shape},
          {"filled", filled},       {"size", size},
          {"strokeWidth", 1.8},     {"opacity", 1},
          {"stroke", "var(--ink)"}, {"fill", filled ? "var(--ink)" : "transparent"}};
}

// A vertical line at a rate of the GPU, with its name at the top.
json limit_layers(double value, const std::string& name, const json& x, double low, double high, int line) {
  json data = {{"values", json::array({{{"v", value}, {"name", name}}})}};
  json at = x;
  at["field"] = "v";
  json rule{{"data", data},
            {"mark", {{"type", "rule"}, {"color", "var(--fail)"}, {"strokeWidth", 1.4}, {"strokeDash", {5, 3}}}},
            {"encoding", {{"x", at}}}};
  const bool right = value > (low + high) / 2;
  json text{{"data", data},
            {"mark",
             {{"type", "text"},
              {"align", right ? "right" : "left"},
              {"dx", right ? -4 : 4},
              {"dy", -7 - 13 * line},
              {"color", "var(--fail)"},
              {"fontSize", 11}}},
            {"encoding", {{"x", at}, {"y", {{"value", 0}}}, {"text", {{"field", "name"}}}}}};
  return json::array({rule, text});
}

json base(const std::string& description, const Pictures& pictures) {
  json spec = chart_base(description, static_cast<int>(pictures.clocks.size()) * kClockRowHeight);
  spec["data"] = {{"values", clock_rows(pictures)}};
  spec["padding"] = {{"left", 4}, {"right", 8}, {"top", 30}, {"bottom", 4}};
  return spec;
}

}  // namespace

json clock_chart(const Report& report) {
  if (!report.pictures || report.pictures->clocks.empty()) return nullptr;
  const Pictures& pictures = *report.pictures;
  json spec = base(
      "SM clock of the longest record of each kernel, back to back: predicted rings, NVML's reading as squares, and "
      "bars from and to what cycles over seconds allow.",
      pictures);
  double low = 10, high = pictures.highest_hz.value_or(0) / 1e9;
  for (const json& row : spec["data"]["values"])
    for (const char* key : {"ph", "nh", "lh"})
      if (row.contains(key)) {
        // A kernel with few blocks holds few multiprocessors: its lower end says nothing and may run out of the
        // picture.
        if (std::string(key) != "lh") low = std::min(low, row[key].get<double>());
        high = std::max(high, row[key].get<double>());
      }
  low -= 0.2, high += 0.04;
  const json y = clock_y(spec["data"]["values"]);
  const auto x = [&](const char* field) { return x_of(field, "SM clock (GHz)", low, high); };
  json range;
  range["transform"] = json::array(
      {{{"filter", "isValid(datum.lh)"}}, {{"calculate", fmt::format("max(datum.lh, {})", low)}, {"as", "from"}}});
  range["mark"] = {
      {"type", "bar"}, {"height", 7}, {"color", "var(--waits)"}, {"stroke", "var(--rule)"}, {"strokeWidth", 0.8}};
  range["encoding"] = {{"y", y}, {"x", x("from")}, {"x2", {{"field", "hh"}}}, {"tooltip", tooltip()}};
  json predicted{{"mark", point("circle", false, 90)},
                 {"encoding", {{"y", y}, {"x", x("ph")}, {"tooltip", tooltip()}}}};
  predicted["mark"]["stroke"] = "var(--hbm)";
  json nvml{{"mark", point("square", true, 26)}, {"encoding", {{"y", y}, {"x", x("nh")}, {"tooltip", tooltip()}}}};
  spec["layer"] = json::array({range});
  int line = 0;
  for (const auto& [value, name] :
       {std::pair{pictures.highest_hz, "highest"}, {pictures.tensor_hz, "with tensor cores"}})
    if (value)
      for (json& layer :
           limit_layers(*value / 1e9, fmt::format("{} {:.2f}", name, *value / 1e9), x("v"), low, high, line++))
        spec["layer"].push_back(layer);
  spec["layer"].push_back(predicted), spec["layer"].push_back(nvml);
  return spec;
}

json power_chart(const Report& report) {
  if (!report.pictures || report.pictures->clocks.empty()) return nullptr;
  const Pictures& pictures = *report.pictures;
  json spec = base(
      "Board power of the longest record of each kernel, back to back: predicted rings, NVML's average of the last "
      "second as squares, the limit as a line, "
      "and a triangle on it where the GPU reported its power cap.",
      pictures);
  double high = pictures.limit_watts.value_or(0);
  for (const ClockRow& row : pictures.clocks) high = std::max({high, row.predicted_watts, row.nvml_watts});
  high *= 1.06;
  const json y = clock_y(spec["data"]["values"]);
  const auto x = [&](const char* field) { return x_of(field, "power (W)", 0, high); };
  json predicted{{"mark", point("circle", false, 90)},
                 {"encoding", {{"y", y}, {"x", x("pw")}, {"tooltip", tooltip()}}}};
  predicted["mark"]["stroke"] = "var(--hbm)";
  json nvml{{"mark", point("square", true, 26)}, {"encoding", {{"y", y}, {"x", x("nw")}, {"tooltip", tooltip()}}}};
  spec["layer"] = json::array();
  if (pictures.limit_watts) {
    for (json& layer :
         limit_layers(*pictures.limit_watts, fmt::format("limit {:.0f} W", *pictures.limit_watts), x("v"), 0, high, 1))
      spec["layer"].push_back(layer);
    json cap{{"mark", point("triangle-down", true, 60)},
             {"encoding", {{"y", y}, {"x", x("limit")}, {"tooltip", tooltip()}}}};
    cap["mark"]["fill"] = cap["mark"]["stroke"] = "var(--fail)";
    cap["transform"] = json::array(
        {{{"filter", "datum.cap"}}, {{"calculate", fmt::format("{}", *pictures.limit_watts)}, {"as", "limit"}}});
    spec["layer"].push_back(cap);
  }
  spec["layer"].push_back(predicted), spec["layer"].push_back(nvml);
  return spec;
}

}  // namespace tilescope::report
