// The parts of hardware_measure.h that need no GPU.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "validate/measure/hardware/hardware_measure.h"

namespace tilescope::validate {
namespace {

using Json = nlohmann::ordered_json;

// Six digits, more than the repeatability of any of these values.
double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

Json rounded(const std::vector<double>& samples) {
  Json list = Json::array();
  for (const double sample : samples) list.push_back(rounded(sample));
  return list;
}

Json value_json(const MicrobenchValue& value) {
  return {
      {"path", value.path}, {"value", rounded(value.value)}, {"note", value.note}, {"samples", rounded(value.samples)}};
}

Json curve_json(const MicrobenchCurve& curve) {
  Json points = Json::array();
  for (const auto& [x, y] : curve.points) points.push_back({rounded(x), rounded(y)});
  return {{"name", curve.name}, {"x", curve.x}, {"y", curve.y}, {"points", points}};
}

template <class Range, class ToJson>
std::string lines(const Range& range, ToJson to_json) {
  std::string text = "[";
  for (const auto& item : range) text += (text.size() == 1 ? "\n" : ",\n") + to_json(item).dump();
  return text + "\n]";
}

}  // namespace

std::string difference_from(const GpuAtHand& gpu, const HardwareProfile& profile) {
  if (profile.compute_capability != gpu.compute_capability)
    return fmt::format("compute capability {} instead of {}", gpu.compute_capability, profile.compute_capability);
  if (profile.units.value != gpu.units) return fmt::format("{} units instead of {}", gpu.units, profile.units.value);
  const MemoryLevel* hbm = profile.level(LevelId::hbm);
  if (hbm == nullptr || !hbm->capacity_bytes) return {};
  const double expected = hbm->capacity_bytes->value;
  if (std::abs(gpu.memory_bytes - expected) <= 0.15 * expected) return {};
  return fmt::format("{} of memory instead of {}", with_binary(gpu.memory_bytes), with_binary(expected));
}

std::string hardware_record_json(const GpuAtHand& gpu, const HardwareMeasurement& m) {
  const Environment& e = gpu.environment;
  const Json environment = {{"hardware", e.hardware},
                            {"gpu", e.gpu},
                            {"chip", e.chip},
                            {"driver", e.driver},
                            {"cuda", e.cuda},
                            {"sm_clock_max_hz", e.sm_clock_max_hz},
                            {"memory_clock_hz", e.memory_clock_hz},
                            {"power_limit_w", e.power_limit_w},
                            {"ecc", e.ecc.value_or(false)},
                            {"l2_bytes", e.l2_bytes},
                            {"units", gpu.units},
                            {"date", e.date},
                            {"revision", e.revision}};
  return fmt::format(
      "{{\n\"schema\":\"{}\",\n\"environment\":{},\n\"seconds\":{:.1f},\n\"skipped\":{},\n\"values\":{},\n\"curves\":{}"
      "\n}}\n",
      hardware_record_schema, environment.dump(), m.seconds, Json(m.skipped).dump(), lines(m.values, value_json),
      lines(m.curves, curve_json));
}

}  // namespace tilescope::validate
