// Where the time of the chosen point goes, and what would help: bars with their values beside them.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/charts/chart.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

constexpr std::size_t kShownParts = 4, kShownGains = 5;
constexpr double kLeastGain = 0.0001;  // a bar of what saves nothing would fill the chart

struct Part {
  std::string name;
  double seconds = 0;
};

std::vector<Part> parts_of(const TimeSplit& split) {
  std::vector<Part> parts{{"waits for latency or another unit", split.waits},
                          {"multiprocessors without a block", split.idle},
                          {"launches", split.launch}};
  for (const auto& [unit, seconds] : split.busiest) parts.push_back({"bound by " + unit_name(unit), seconds});
  std::erase_if(parts, [](const Part& part) { return part.seconds <= 0; });
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.seconds > b.seconds; });
  return parts;
}

double short_share(double share) { return std::stod(fmt::format("{:.4g}", share)); }

std::string lever_name(const std::string& key) {
  static const std::vector<std::pair<std::string, std::string>> kNames{
      {"hbm", "HBM bandwidth"},   {"l2", "L2 bandwidth"},       {"smem", "shared-memory bandwidth"},
      {"tensor", "tensor cores"}, {"xu", "special functions"},  {"fma", "fp32 units"},
      {"alu", "integer units"},   {"latency", "all latencies"}, {"power", "power limit"}};
  for (const auto& [known, name] : kNames)
    if (known == key) return name;
  return key;
}

json time_rows(const Report& report) {
  json rows = json::array();
  for (const ReportPoint& point : report.points) {
    if (!point.split || !point.predicted.seconds) continue;
    const std::vector<Part> parts = parts_of(*point.split);
    std::vector<std::string> rest;
    double rest_share = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double share = parts[i].seconds / *point.predicted.seconds;
      if (i < kShownParts)
        rows.push_back({{"id", point.key}, {"n", i}, {"what", parts[i].name}, {"share", short_share(share)}});
      else rest.push_back(parts[i].name + " " + percent_text(share)), rest_share += share;
    }
    if (!rest.empty())
      rows.push_back({{"id", point.key},
                      {"n", kShownParts},
                      {"what", "rest"},
                      {"share", short_share(rest_share)},
                      {"rest", join(rest, ", ")}});
  }
  return rows;
}

json gain_rows(const Report& report) {
  json rows = json::array();
  for (const ReportPoint& point : report.points)
    for (std::size_t i = 0; i < std::min(kShownGains, point.savings.size()) && point.savings[i].part >= kLeastGain; ++i)
      rows.push_back({{"id", point.key},
                      {"n", i},
                      {"what", lever_name(point.savings[i].key)},
                      {"share", short_share(point.savings[i].part)}});
  return rows;
}

// Bars of the chosen point, in the order of the field n, with their names above them.
json bars(const std::string& description, const json& rows, int most, const char* fill, const json& domain) {
  if (rows.empty()) return nullptr;
  json spec = chart_base(description, 38 * most);
  spec["data"] = {{"values", rows}};
  spec["params"] = json::array({{{"name", "point"}, {"value", rows.front()["id"]}}});
  spec["transform"] =
      json::array({{{"filter", "datum.id == point"}},
                   {{"calculate",
                     "datum.what + ' · ' + (datum.share < 0.0001 ? 'under 0.01 %' : "
                     "format(100 * datum.share, '.3~r') + ' %')"},
                    {"as", "text"}},
                   {{"calculate", "datum.text + (isValid(datum.rest) ? ': ' + datum.rest : '')"}, {"as", "all"}}});
  json order = json::array();
  for (int i = 0; i < most; ++i) order.push_back(i);
  const json y = {{"field", "n"}, {"type", "ordinal"}, {"axis", nullptr}, {"scale", {{"domain", order}}}};
  json scale = {{"nice", true}, {"zero", true}};
  if (!domain.is_null()) scale = {{"domain", domain}, {"nice", false}};
  json bar;
  bar["mark"] = {{"type", "bar"}, {"height", 10}, {"yOffset", 9}, {"stroke", "var(--ink)"}, {"strokeWidth", 0.7}};
  bar["encoding"] = {{"y", y},
                     {"x",
                      {{"field", "share"},
                       {"type", "quantitative"},
                       {"title", nullptr},
                       {"scale", scale},
                       {"axis", {{"format", "~%"}, {"tickCount", 5}}}}},
                     {"color", {{"value", fill}}},
                     {"tooltip", json::array({{{"field", "all"}, {"title", "part"}}})}};
  json text;
  text["mark"] = {{"type", "text"}, {"align", "left"}, {"baseline", "bottom"}, {"dy", 1}};
  text["encoding"] = {{"y", y}, {"x", {{"value", 0}}}, {"text", {{"field", "text"}}}};
  spec["layer"] = json::array({bar, text});
  return spec;
}

}  // namespace

json time_chart(const Report& report) {
  return bars("Parts of the predicted time of the chosen point, largest first.", time_rows(report),
              static_cast<int>(kShownParts) + 1, "var(--issue)", json::array({0, 1}));
}

json gain_chart(const Report& report) {
  return bars(
      "Part of the predicted time that 10 percent more of one thing would save at the chosen point, largest first.",
      gain_rows(report), static_cast<int>(kShownGains), "var(--smem)", nullptr);
}

}  // namespace tilescope::report
