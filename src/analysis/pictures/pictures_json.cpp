#include "analysis/json.h"
#include "analysis/pictures/pictures.h"

namespace tilescope::analysis {
namespace {

Json residual_json(const Residual& residual) {
  Json json{{"kernel", residual.kernel},
            {"label", residual.label},
            {"third_party", residual.third_party},
            {"regime", residual.regime}};
  for (const char* quantity : {"seconds", "hbm_read_bytes", "busy_cycles"})
    if (const auto found = residual.quantities.find(quantity); found != residual.quantities.end())
      json[quantity] = {
          {"predicted", found->second.predicted}, {"measured", found->second.measured}, {"bar", found->second.bar}};
  return json;
}

Json bar_json(const Bar& bar) {
  return {{"kernel", bar.kernel}, {"quantity", bar.quantity}, {"regime", bar.regime}, {"n", whole(bar.n)},
          {"low", bar.low},       {"high", bar.high},         {"p90", bar.p90},       {"stated", bar.stated}};
}

Json units_json(const std::map<std::string, double>& seconds) {
  Json json = Json::object();
  for (const UnitName& unit : kUnits)
    if (const auto found = seconds.find(unit.key); found != seconds.end()) json[unit.key] = found->second;
  return json;
}

Json split_json(const Split& split) {
  return {{"kernel", split.kernel},
          {"label", split.label},
          {"third_party", split.third_party},
          {"longest", split.longest},
          {"measured", split.measured},
          {"predicted", split.predicted},
          {"busiest", units_json(split.busiest)},
          {"waits", split.waits},
          {"idle", split.idle},
          {"launch", split.launch},
          {"units", units_json(split.units)}};
}

Json series_json(const LengthSeries& series) {
  Json points = Json::array();
  for (const LengthPoint& point : series.points)
    points.push_back({{"kv_len", whole(point.kv_len)},
                      {"predicted", point.predicted},
                      {"measured", point.measured},
                      {"compulsory", whole(point.compulsory)},
                      {"no_cache", point.no_cache}});
  return {{"kernel", series.kernel},
          {"label", series.label},
          {"third_party", series.third_party},
          {"points", std::move(points)}};
}

Json clock_json(const ClockRow& row) {
  return {{"kernel", row.kernel},
          {"label", row.label},
          {"third_party", row.third_party},
          {"seconds", row.seconds},
          {"predicted_hz", row.predicted_hz},
          {"nvml_hz", row.nvml_hz},
          {"low_hz", json_of(row.low_hz)},
          {"high_hz", json_of(row.high_hz)},
          {"predicted_watts", row.predicted_watts},
          {"nvml_watts", row.nvml_watts},
          {"at_limit", row.at_limit},
          {"reports_cap", row.reports_cap}};
}

template <typename T>
Json list_of(const std::vector<T>& values, Json (*write)(const T&)) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(write(value));
  return list;
}

}  // namespace

Json to_json(const Pictures& pictures) {
  const PowerAgreement& power = pictures.power_limit;
  return {{"records", whole(pictures.records)},
          {"kernels", whole(pictures.kernels)},
          {"experiments", pictures.experiments},
          {"residuals", list_of(pictures.residuals, residual_json)},
          {"bars", list_of(pictures.bars, bar_json)},
          {"splits", list_of(pictures.splits, split_json)},
          {"lengths", list_of(pictures.lengths, series_json)},
          {"clocks", list_of(pictures.clocks, clock_json)},
          {"power_limit",
           {{"both", power.both},
            {"model_only", power.model_only},
            {"gpu_only", power.gpu_only},
            {"neither", power.neither}}},
          {"limits",
           {{"watts", json_of(pictures.limit_watts)},
            {"highest_hz", json_of(pictures.highest_hz)},
            {"tensor_hz", json_of(pictures.tensor_hz)}}}};
}

}  // namespace tilescope::analysis
