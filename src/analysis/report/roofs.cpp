#include "analysis/report/roofs.h"

#include "hardware/derived.h"
#include "predict/l2/memory_seconds.h"

namespace tilescope::analysis {

namespace {

// What a roof's rate is known from.
std::string basis_of_roof(const HardwareProfile& hardware, const MemoryLevel& level, const HighestRate& rate) {
  if (rate.of_measured) return to_string(basis_of_group(hardware, level.name(), ""));
  const auto is = [&](const auto& known) { return known && known->value == rate.bytes_per_second; };
  if (is(level.bandwidth_bytes_per_second)) return "datasheet";
  if (is(level.measured_bandwidth_bytes_per_second)) return "measured";
  return properties(level.id).per_unit ? "bytes per clock x units x boost clock" : "bytes per clock x boost clock";
}

}  // namespace

std::vector<Roof> roofs(const HardwareProfile& hardware) {
  std::vector<Roof> list;
  for (const MemoryLevel& level : hardware.levels)
    if (const HighestRate rate = highest_rate(hardware, level.id); rate.bytes_per_second > 0)
      list.push_back({level.name(), basis_of_roof(hardware, level, rate), rate.bytes_per_second});
  return list;
}

std::vector<Peak> peaks(const HardwareProfile& hardware, const std::set<std::string>& dtypes) {
  std::vector<Peak> list;
  const auto clock = hardware.tensor_hz ? hardware.tensor_hz : hardware.boost_hz;
  if (!clock) return list;
  const auto add = [&](Format format, const std::string& path, double per_cycle) {
    if (dtypes.contains(to_string(format)))
      list.push_back({to_string(format), path, per_cycle * static_cast<double>(hardware.units.value) * clock->value});
  };
  for (const auto& [format, rate] : hardware.tensor_flop_per_cycle) add(format, "tensor", rate.value);
  for (const auto& [path, rates] : hardware.instruction_flop_per_cycle)
    for (const auto& [format, rate] : rates) add(format, path, rate.value);
  if (hardware.fp32_fma_per_cycle && hardware.boost_hz && dtypes.contains("fp32"))
    list.push_back({"fp32", "fma",
                    2 * hardware.fp32_fma_per_cycle->value * static_cast<double>(hardware.units.value) *
                        hardware.boost_hz->value});
  return list;
}

}  // namespace tilescope::analysis
