// Clock and power under load, as predicted and as the GPU says. NVML's clock is read at one moment and its power is an
// average over about a second, of which a record's runs fill a fifth; whether the GPU reports its power cap is exact.
#include <algorithm>
#include <map>

#include "analysis/pictures/pictures.h"
#include "predict/sm/rates.h"

namespace tilescope::analysis {
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

std::optional<double> number(const std::optional<Sourced<double>>& value) {
  return value ? std::optional(value->value) : std::nullopt;
}

// The run's clock lies between cycles in which a multiprocessor holds a block and cycles with the profiler's own around
// the kernel, both over seconds. No clock is above the GPU's highest.
ClockRow row_of(const PictureRecord& record, const HardwareProfile& hardware) {
  const TimePrediction& time = record.prediction().time;
  const validate::Clocks& clocks = *record.compared->record.clocks;
  ClockRow row{.kernel = record.kernel,
               .label = record.label,
               .third_party = record.third_party,
               .at_limit = at_power_limit(time, hardware),
               .reports_cap = reports_cap(clocks),
               .seconds = record.seconds,
               .predicted_hz = time.clock_hz,
               .nvml_hz = clocks.sm_hz,
               .predicted_watts = time.watts,
               .nvml_watts = clocks.power_w};
  if (record.busy_cycles && record.elapsed_cycles) {
    const double highest = record.compared->record.environment.sm_clock_max_hz;
    row.low_hz = *record.busy_cycles / record.seconds;
    row.high_hz = std::min(highest, *record.elapsed_cycles / record.seconds);
  }
  return row;
}

}  // namespace

void add_clocks(Pictures& pictures, const std::vector<PictureRecord>& records, const HardwareProfile& hardware) {
  std::map<std::pair<bool, std::string>, const PictureRecord*> longest;
  PowerAgreement& agreement = pictures.power_limit;
  for (const PictureRecord& record : records) {
    const TimePrediction& time = record.prediction().time;
    if (!record.compared->record.clocks || !time.modelled || time.watts <= 0 || record.seconds < shortest_of_clocks)
      continue;
    const bool model = at_power_limit(time, hardware), gpu = reports_cap(*record.compared->record.clocks);
    ++(model && gpu ? agreement.both : model ? agreement.model_only : gpu ? agreement.gpu_only : agreement.neither);
    const PictureRecord*& best = longest[{record.third_party, record.kernel}];
    if (!best || record.seconds > best->seconds) best = &record;
  }
  for (const auto& [kernel, record] : longest) pictures.clocks.push_back(row_of(*record, hardware));
  pictures.limit_watts = number(hardware.board_watts);
  pictures.highest_hz = number(hardware.boost_hz);
  pictures.tensor_hz = number(tensor_clock(hardware));
}

}  // namespace tilescope::analysis
