#include "cli/derive_levels.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/text.h"
#include "optimum/levels.h"

namespace tilescope::cli {
namespace {

struct BoundaryMemory {
  std::string name, what;
  double bytes = 0;                        // inside the boundary
  std::optional<double> bytes_per_second;  // across it, whole device
};

std::optional<double> bandwidth(const HardwareProfile& hardware, const char* name, bool per_unit) {
  const MemoryLevel* level = hardware.level(name);
  if (!level) return std::nullopt;
  if (level->measured_bandwidth_bytes_per_second) return level->measured_bandwidth_bytes_per_second->value;
  if (level->bandwidth_bytes_per_second) return level->bandwidth_bytes_per_second->value;
  if (!level->bandwidth_bytes_per_cycle || !hardware.boost_hz) return std::nullopt;
  return level->bandwidth_bytes_per_cycle->value * hardware.boost_hz->value *
         (per_unit ? static_cast<double>(hardware.units.value) : 1);
}

std::vector<BoundaryMemory> boundaries(const HardwareProfile& hardware) {
  std::vector<BoundaryMemory> found;
  const MemoryLevel* smem = hardware.level("smem");
  const double units = static_cast<double>(hardware.units.value);
  if (smem && smem->capacity_per_block_bytes) {
    const double block = smem->capacity_per_block_bytes->value;
    found.push_back(
        {"hbm -> l2",
         fmt::format("shared memory of all {} units (theorem 2: outputs stay in them)", hardware.units.value),
         intermediate_memory(block, units), bandwidth(hardware, "hbm", false)});
    found.push_back({"l2 -> smem", "shared memory of one block", block, bandwidth(hardware, "l2", false)});
  }
  if (hardware.registers_per_unit)
    found.push_back({"smem -> register", "registers of one unit",
                     4.0 * static_cast<double>(hardware.registers_per_unit->value), bandwidth(hardware, "smem", true)});
  return found;
}

}  // namespace

PageSection levels_section(const DeriveRequest& request, const std::filesystem::path& models_directory,
                           const HardwareProfile& hardware, double value_bytes) {
  PageSection section{.heading = "Level by level on " + hardware.id};
  section.paragraphs.push_back(
      fmt::format("Each boundary has its own best schedule and tiles; costs add up, so pairs of nests need not be "
                  "tried together. Values of {:g} bytes.",
                  value_bytes));
  PageTable table{.columns = {"boundary", "memory", "values", "best", "loops and tiles", "traffic", "microseconds"}};
  double total = 0;
  bool complete = true;
  for (const BoundaryMemory& boundary : boundaries(hardware)) {
    DeriveRequest here = request;
    here.memory = std::floor(boundary.bytes / value_bytes), here.widths.clear(), here.ranked = 1;
    const Derivation derivation = derive(here, models_directory);
    std::vector<std::string> row{boundary.name, boundary.what, with_thousands(std::llround(here.memory))};
    if (derivation.ranked.empty()) {
      row.insert(row.end(), {"nothing fits", "", "", ""});
      complete = false;
    } else {
      const RankedFusion& best = derivation.ranked.front();
      std::vector<std::string> loops;
      for (const RankedKernel& kernel : best.kernels) {
        std::string text = to_text(derivation.primitives.diagram, kernel.loops);
        for (std::size_t i = 0; i < kernel.best.tiles.size(); ++i)
          text += fmt::format(" {}={:.0f}", kernel.problem.symbolic.symbols[kernel.problem.tiles[i]].text,
                              kernel.best.tiles[i]);
        loops.push_back(std::move(text));
      }
      const double seconds = boundary.bytes_per_second ? best.traffic * value_bytes / *boundary.bytes_per_second : 0;
      total += seconds, complete = complete && boundary.bytes_per_second;
      row.insert(row.end(), {join(best.names, ", "), join(loops, "; then "), with_thousands(std::llround(best.traffic)),
                             boundary.bytes_per_second ? fmt::format("{:.1f}", seconds * 1e6) : "bandwidth unknown"});
    }
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
  section.paragraphs.push_back(
      fmt::format("Weighted sum over levels: {:.1f} microseconds of transfers if none overlaps{}.", total * 1e6,
                  complete ? "" : ", without the boundaries whose rate is unknown"));
  return section;
}

}  // namespace tilescope::cli
