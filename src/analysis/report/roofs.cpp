#include "analysis/report/roofs.h"

namespace tilescope::analysis {

std::vector<Roof> roofs(const HardwareProfile& hardware) {
  std::vector<Roof> list;
  for (const MemoryLevel& level : hardware.levels) {
    if (level.measured_bandwidth_bytes_per_second)
      list.push_back({level.name(), "measured", level.measured_bandwidth_bytes_per_second->value});
    else if (level.bandwidth_bytes_per_second)
      list.push_back({level.name(), "datasheet", level.bandwidth_bytes_per_second->value});
    else if (level.bandwidth_bytes_per_cycle && hardware.boost_hz && level.id == LevelId::smem)
      list.push_back({level.name(), "bytes per clock x units x boost clock",
                      level.bandwidth_bytes_per_cycle->value * static_cast<double>(hardware.units.value) *
                          hardware.boost_hz->value});
    else if (level.bandwidth_bytes_per_cycle && hardware.boost_hz && level.id == LevelId::l2)
      list.push_back({level.name(), "bytes per clock x boost clock",
                      level.bandwidth_bytes_per_cycle->value * hardware.boost_hz->value});
  }
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
