// Clock and power under load, as predicted and as the GPU says. NVML's clock is read at one moment and its power is an
// average over about a second, of which a record's runs fill a fifth; whether the GPU reports its power cap is exact.
#include <algorithm>
#include <map>

#include "cli/report_pictures.h"
#include "predict/sm/rates.h"

namespace tilescope::cli {
namespace {

constexpr double shortest_of_clocks = 100e-6;  // below, the profiler's own cycles and launches blur cycles over seconds
constexpr double at_limit = 0.999;             // of the limit

bool reports_cap(const validate::Clocks& clocks) {
  return std::any_of(clocks.throttle.begin(), clocks.throttle.end(),
                     [](const std::string& reason) { return reason.find("power") != std::string::npos; });
}

bool at_power_limit(const TimePrediction& time, const HardwareProfile& hardware) {
  return hardware.board_watts && time.watts >= at_limit * hardware.board_watts->value;
}

Json number(const std::optional<Sourced<double>>& value) { return value ? Json(value->value) : Json(nullptr); }

// The run's clock lies between cycles in which a multiprocessor holds a block and cycles with the profiler's own around
// the kernel, both over seconds. No clock is above the GPU's highest.
Json row_of(const PictureRecord& record, const HardwareProfile& hardware) {
  const TimePrediction& time = record.prediction().time;
  const validate::Clocks& clocks = *record.compared->record.clocks;
  const double highest = record.compared->record.environment.sm_clock_max_hz;
  Json low = nullptr, high = nullptr;
  if (record.busy_cycles && record.elapsed_cycles) {
    low = *record.busy_cycles / record.seconds;
    high = std::min(highest, *record.elapsed_cycles / record.seconds);
  }
  return {{"kernel", record.kernel},
          {"label", record.label},
          {"third_party", record.third_party},
          {"seconds", record.seconds},
          {"predicted_hz", time.clock_hz},
          {"nvml_hz", clocks.sm_hz},
          {"low_hz", low},
          {"high_hz", high},
          {"predicted_watts", time.watts},
          {"nvml_watts", clocks.power_w},
          {"at_limit", at_power_limit(time, hardware)},
          {"reports_cap", reports_cap(clocks)}};
}

}  // namespace

Json picture_clocks(const std::vector<PictureRecord>& records, const HardwareProfile& hardware) {
  std::map<std::pair<bool, std::string>, const PictureRecord*> longest;
  std::int64_t both = 0, model = 0, gpu = 0, neither = 0;
  for (const PictureRecord& record : records) {
    const TimePrediction& time = record.prediction().time;
    if (!record.compared->record.clocks || !time.modelled || time.watts <= 0 || record.seconds < shortest_of_clocks)
      continue;
    const bool says = at_power_limit(time, hardware), reports = reports_cap(*record.compared->record.clocks);
    ++(says && reports ? both : says ? model : reports ? gpu : neither);
    const PictureRecord*& best = longest[{record.third_party, record.kernel}];
    if (!best || record.seconds > best->seconds) best = &record;
  }
  Json rows = Json::array();
  for (const auto& [kernel, record] : longest) rows.push_back(row_of(*record, hardware));
  return {{"clocks", std::move(rows)},
          {"power_limit", {{"both", both}, {"model_only", model}, {"gpu_only", gpu}, {"neither", neither}}},
          {"limits",
           {{"watts", number(hardware.board_watts)},
            {"highest_hz", number(hardware.boost_hz)},
            {"tensor_hz", number(tensor_clock(hardware))}}}};
}

}  // namespace tilescope::cli
