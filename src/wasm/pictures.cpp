#include "wasm/pictures.h"

#include <algorithm>

#include "analysis/pictures/pictures.h"
#include "analysis/report/roofs.h"
#include "predict/explain/labels.h"

namespace tilescope::wasm {
namespace {

// The format of queries, or of the first array where there are none: whose peak bounds the point.
std::string main_format(const Plan& plan, const Point& point) {
  const std::vector<Array>& arrays = plan.schedule.diagram.arrays;
  const auto queries = std::find_if(arrays.begin(), arrays.end(), [](const Array& a) { return a.dtype_key == "q"; });
  if (arrays.empty()) return "";
  return to_string(point.dtypes[queries == arrays.end() ? 0 : static_cast<std::size_t>(queries - arrays.begin())]);
}

Json gpu_json(const HardwareProfile& hardware, const std::string& format) {
  Json roofs = Json::array(), peaks = Json::array();
  for (const analysis::Roof& roof : analysis::roofs(hardware))
    roofs.push_back({{"level", roof.level}, {"bytes_per_second", roof.bytes_per_second}, {"basis", roof.basis}});
  for (const analysis::Peak& peak : analysis::peaks(hardware, {format}))
    peaks.push_back({{"path", peak.path}, {"flop_per_second", peak.flop_per_second}});
  return {{"id", hardware.id}, {"name", hardware.name}, {"roofs", std::move(roofs)}, {"peaks", std::move(peaks)}};
}

Json split_json(const Answer& answer) {
  if (!answer.outside.empty() || !answer.prediction.feasible || !answer.prediction.time.modelled) return nullptr;
  const analysis::TimeSplit split = analysis::time_split(answer.prediction, answer.hardware);
  Json busiest = Json::object();
  for (const auto& [unit, seconds] : split.busiest) busiest[unit] = seconds;
  return {{"busiest", std::move(busiest)}, {"waits", split.waits}, {"idle", split.idle}, {"launch", split.launch}};
}

}  // namespace

Json point_picture(const Answer& answer) {
  const std::string format = main_format(answer.plan, answer.point);
  return {{"prediction", answer.json()},
          {"gpu", gpu_json(answer.hardware, format)},
          {"format", format},
          {"tile", answer.outside.empty() ? tile_label(answer.plan, answer.point) : ""},
          {"split", split_json(answer)}};
}

}  // namespace tilescope::wasm
