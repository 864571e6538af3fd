#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/charts/chart.h"
#include "report/page/sections.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

// Whole numbers without ".0": the page's CSV then reads like the one from the command line.
json value_of(const Number& number) {
  if (!number) return nullptr;
  return json::parse(plain_number(number));
}

json charts_of(const Report& report) {
  json charts = json::object();
  const auto put = [&](const std::string& id, json spec) {
    if (!spec.is_null()) charts[id] = std::move(spec);
  };
  const std::vector<RooflinePanel> panels = roofline_panels(report);
  const RooflineFrame frame = roofline_frame(report);
  for (std::size_t i = 0; i < panels.size(); ++i)
    put(fmt::format("roofline-{}", i), roofline_chart(report, panels[i], frame));
  put("time", time_chart(report));
  put("gain", gain_chart(report));
  for (const std::string& level : traffic_levels(report)) put("traffic-" + level, traffic_chart(report, level));
  put("errors", error_chart(report));
  put("tiles", tile_chart(report));
  for (const char* quantity : kResidualQuantities)
    put(std::string("residual-") + quantity, residual_chart(report, quantity));
  if (report.pictures)
    for (std::size_t i = 0; i < report.pictures->lengths.size(); ++i)
      put(fmt::format("length-{}", i), length_chart(report.pictures->lengths[i], length_frame(*report.pictures)));
  put("clock", clock_chart(report));
  put("power", power_chart(report));
  return charts;
}

// The line above the chosen point's charts.
std::string facts_of(const ReportPoint& point) {
  std::vector<std::string> parts;
  if (!point.tile.empty()) parts.push_back("tile " + point.tile);
  if (point.predicted.seconds) {
    std::string text = "predicted " + std::string(point.modelled ? "" : "at least ") +
                       quantity_short("seconds", point.predicted.seconds);
    if (point.error) text += fmt::format(" (nine of ten within {})", percent_text(point.error->p90));
    if (!point.bound_by.empty()) text += ", bound by " + resource_name(point.bound_by);
    parts.push_back(text);
  }
  if (point.measured && point.measured->seconds)
    parts.push_back("measured " + quantity_short("seconds", point.measured->seconds));
  else parts.emplace_back("time not measured");
  return join(parts, " · ");
}

json point_of(const ReportPoint& point) {
  const Number measured = point.measured ? point.measured->seconds : Number();
  return {{"key", point.key},
          {"id", point.id},
          {"label", point.label},
          {"kernel", point.kernel},
          {"gpu", point.gpu},
          {"tile", point.tile},
          {"time_predicted", quantity_short("seconds", point.predicted.seconds)},
          {"time_measured", quantity_short("seconds", measured)},
          {"facts", facts_of(point)}};
}

}  // namespace

json page_data(const Report& report) {
  json points = json::array();
  for (const ReportPoint& point : report.points) points.push_back(point_of(point));
  // Names that recur a thousand times stand once: a row refers to its point and its quantity by index. A row of a point
  // that is not in the report carries [id, kernel] instead.
  json rows = json::array(), quantities = json::array();
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < report.points.size(); ++i) place.emplace(report.points[i].id, i);
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const ReportRow& row : all_rows(report)) {
    const auto [entry, added] = index.try_emplace({row.quantity, row.level}, index.size());
    if (added)
      quantities.push_back({row.quantity, row.level, quantity_name(row.quantity, row.level), unit_of(row.quantity)});
    const auto point = place.find(row.point);
    rows.push_back({point != place.end() ? json(point->second) : json::array({row.point, row.kernel}), entry->second,
                    value_of(row.predicted), value_of(row.measured), value_of(row.ratio), value_of(row.tolerance),
                    row.verdict ? to_string(*row.verdict) : ""});
  }
  // So does the charts' common look.
  json charts = charts_of(report), config;
  for (json& spec : charts) config = std::move(spec["config"]), spec.erase("config");
  return {{"config", std::move(config)},
          {"charts", std::move(charts)},
          {"points", points},
          {"quantities", quantities},
          {"rows", rows},
          {"records", residual_data(report)}};
}

}  // namespace tilescope::report
