#include "predict/time/launch_gaps.h"

#include <algorithm>

namespace tilescope {

double first_block_start(const HardwareProfile& hardware) {
  const auto& measured = hardware.measured;
  return measured && measured->launch.block ? measured->launch.block->value : 0;
}

double launch_seconds(const HardwareProfile& hardware, const IslandImplementation& how, double gone) {
  const auto& measured = hardware.measured;
  if (measured && how.early_launch && measured->launch.dependent) return measured->launch.dependent->value;
  const double first = first_block_start(hardware);
  if (measured && measured->launch.interval) {
    const double stays = measured->launch.interval->value, all_gone = measured->launch.interval_from_memory
                                                                          ? measured->launch.interval_from_memory->value
                                                                          : stays;
    return std::max(0.0, stays + gone * (all_gone - stays) - first);
  }
  return hardware.launch_seconds ? hardware.launch_seconds->value : 0;
}

double alone_seconds(const HardwareProfile& hardware, const IslandImplementation& how) {
  const auto& measured = hardware.measured;
  if (!measured || !measured->launch.alone) return launch_seconds(hardware, how, 1);
  return std::max(0.0, measured->launch.alone->value - first_block_start(hardware));
}

double host_seconds(const HardwareProfile& hardware, std::size_t launches) {
  const bool known = hardware.measured && hardware.measured->launch.host_interval;
  return known ? hardware.measured->launch.host_interval->value * static_cast<double>(launches) : 0;
}

}  // namespace tilescope
