#include <nlohmann/json.hpp>

#include "report/chart.h"
#include "report/sections.h"

namespace tilescope::report {
namespace {

using nlohmann::json;

json value_of(const Number& number) { return number ? json(*number) : json(nullptr); }

json charts_of(const Report& report) {
  json charts = json::object();
  const auto put = [&](const std::string& id, json spec) {
    if (!spec.is_null()) charts[id] = std::move(spec);
  };
  put("roofline", roofline_chart(report));
  for (const std::string& level : traffic_levels(report)) put("traffic-" + level, traffic_chart(report, level));
  put("errors", error_chart(report));
  put("tiles", tile_chart(report));
  return charts;
}

}  // namespace

json page_data(const Report& report) {
  json points = json::array();
  for (const Point& point : report.points)
    points.push_back({{"id", point.id}, {"label", point.label}, {"kernel", point.kernel}, {"dtype", point.dtype}, {"bound_by", point.bound_by},
                      {"predicted_seconds", value_of(point.predicted.seconds)},
                      {"measured_seconds", point.measured ? value_of(point.measured->seconds) : json(nullptr)}});
  json rows = json::array();
  for (const Row& row : all_rows(report))
    rows.push_back({row.point, row.kernel, row.quantity, row.level, value_of(row.predicted), value_of(row.measured), value_of(row.ratio),
                    value_of(row.tolerance), row.verdict});
  return {{"charts", charts_of(report)}, {"points", points}, {"rows", rows}};
}

}  // namespace tilescope::report
