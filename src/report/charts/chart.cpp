#include "report/charts/chart.h"

namespace tilescope::report {

using nlohmann::json;

namespace {

json chart_config() {
  const char* ink = "var(--ink)";
  const char* quiet = "var(--ink-2)";
  json config;
  config["mark"] = {{"aria", false}};  // the page names each chart and says its marks (chart.js): they have no roles
  config["background"] = "transparent";
  config["font"] = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
  config["view"] = {{"stroke", nullptr}};
  config["axis"] = {
      {"labelColor", quiet}, {"titleColor", ink},          {"titleFontWeight", 500},       {"titleFontSize", 12},
      {"labelFontSize", 12}, {"gridColor", "var(--grid)"}, {"domainColor", "var(--rule)"}, {"tickColor", "var(--rule)"},
      {"titlePadding", 10},  {"labelPadding", 6}};
  config["text"] = {{"color", ink}, {"fontSize", 12}};
  config["rule"] = {{"color", "var(--rule)"}};
  return config;
}

}  // namespace

json chart_base(const std::string& description, int height) {
  json spec;
  spec["$schema"] = "https://vega.github.io/schema/vega-lite/v6.json";
  spec["description"] = description;
  spec["width"] = "container";
  spec["height"] = height;
  spec["autosize"] = {{"type", "fit-x"}, {"contains", "padding"}};
  spec["config"] = chart_config();
  return spec;
}

}  // namespace tilescope::report
