#include "lower/machine_levels.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilescope::lower {
namespace {

template <class T>
double needed(const HardwareProfile& hardware, const std::optional<Sourced<T>>& field, const char* path) {
  if (field) return static_cast<double>(field->value);
  throw InputError(
      Diagnostic{.file = hardware.file,
                 .path = path,
                 .message = "is not in this profile, and the comparison needs it; add it with its source"});
}

const MemoryLevel& level_of(const HardwareProfile& hardware, LevelId id) {
  if (const MemoryLevel* level = hardware.level(id)) return *level;
  throw InputError(Diagnostic{
      .file = hardware.file, .path = "levels." + to_string(id), .message = "is not in this profile; add it"});
}

}  // namespace

Level dram_level(const HardwareProfile& hardware, double value_bytes) {
  const double block =
      needed(hardware, level_of(hardware, LevelId::smem).capacity_per_block_bytes, "levels.smem.capacity_per_block");
  const double bandwidth =
      needed(hardware, level_of(hardware, LevelId::hbm).bandwidth_bytes_per_second, "levels.hbm.bandwidth");
  const double memory = intermediate_memory(block / value_bytes, static_cast<double>(hardware.units.value));
  return {hardware.id, memory, value_bytes / bandwidth};
}

double flop_per_value(const HardwareProfile& hardware, Format format, double bytes_per_second, double value_bytes) {
  const auto rate = hardware.tensor_flop_per_cycle.find(format);
  const bool known = rate != hardware.tensor_flop_per_cycle.end();
  const std::optional<Sourced<double>> per_clock = known ? std::optional(rate->second) : std::nullopt;
  const double clock =
      needed(hardware, hardware.tensor_hz ? hardware.tensor_hz : hardware.boost_hz, "compute.tensor_clock");
  const double flop = needed(hardware, per_clock, "compute.tensor") * clock * static_cast<double>(hardware.units.value);
  return flop / (bytes_per_second / value_bytes);
}

}  // namespace tilescope::lower
