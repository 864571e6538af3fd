#include "boundaries/rates.h"

#include <fmt/format.h>

#include "optimum/levels.h"

namespace tilescope {

std::vector<BoundaryRate> rates_of(const HardwareProfile& hardware, LevelId id) {
  std::vector<BoundaryRate> rates;
  const MemoryLevel* level = hardware.level(id);
  if (!level) return rates;
  const double clock = hardware.boost_hz ? hardware.boost_hz->value : 0,
               units = static_cast<double>(hardware.units.value);
  const auto& measured = hardware.measured;
  if (id == LevelId::l2 && measured && measured->l2.read_private)
    rates.push_back({measured->l2.read_private->value, true, measured->l2.read_private->source});
  else if (id == LevelId::smem && measured && measured->smem.load && clock > 0)
    rates.push_back({measured->smem.load->value * clock * units, true, measured->smem.load->source});
  else if (const auto& rate = level->measured_bandwidth_bytes_per_second)
    rates.push_back({rate->value, true, rate->source});
  if (const auto& rate = level->bandwidth_bytes_per_second) rates.push_back({rate->value, false, rate->source});
  else if (level->bandwidth_bytes_per_cycle && clock > 0)
    rates.push_back({level->bandwidth_bytes_per_cycle->value * clock * (properties(id).per_unit ? units : 1), false,
                     level->bandwidth_bytes_per_cycle->source});
  return rates;
}

std::vector<BoundaryMemory> boundaries_of(const HardwareProfile& hardware) {
  std::vector<BoundaryMemory> found;
  const MemoryLevel* smem = hardware.level(LevelId::smem);
  const double units = static_cast<double>(hardware.units.value);
  if (smem && smem->capacity_per_block_bytes) {
    const double block = smem->capacity_per_block_bytes->value;
    const auto all = [&](const std::string& name) {
      found.push_back(
          {name, fmt::format("shared memory of all {} units (theorem 2: outputs stay in them)", hardware.units.value),
           intermediate_memory(block, units), LevelId::hbm, rates_of(hardware, LevelId::hbm)});
    };
    if (hardware.level(LevelId::llc)) {  // parts of the L2 share nothing: each fetches what its own units need
      const double parts = hardware.l2_caches ? static_cast<double>(hardware.l2_caches->value) : 1;
      all("hbm -> llc");
      found.push_back({"llc -> l2",
                       fmt::format("shared memory of the units of one of {:.0f} parts of the l2 (theorem 2)", parts),
                       intermediate_memory(block, units / parts), LevelId::llc, rates_of(hardware, LevelId::llc)});
    } else {
      all("hbm -> l2");
    }
    found.push_back({"l2 -> smem", "shared memory of one block", block, LevelId::l2, rates_of(hardware, LevelId::l2)});
  }
  if (hardware.registers_per_unit)
    found.push_back({"smem -> register", "registers of one unit",
                     4.0 * static_cast<double>(hardware.registers_per_unit->value), LevelId::smem,
                     rates_of(hardware, LevelId::smem)});
  return found;
}

}  // namespace tilescope
