#include "cli/commands/hardware/hardware_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/unit_groups.h"
#include "predict/l2/cache/associativity.h"

namespace tilescope::cli {
namespace {

using Points = std::vector<std::pair<double, double>>;

Points points_of(const validate::HardwareMeasurement& measurement, std::string_view name) {
  for (const validate::MicrobenchCurve& curve : measurement.curves)
    if (curve.name == name) return curve.points;
  return {};
}

// The profile's own capacity may be finer than a whole MiB; a device reports bytes.
std::string capacity_text(double bytes) {
  return std::fmod(bytes, 1 << 20) == 0 ? fmt::format("{:.0f} MiB", bytes / (1 << 20)) : fmt::format("{:.0f} B", bytes);
}

}  // namespace

std::vector<LevelEntry> measured_l2(const validate::HardwareMeasurement& measurement, const HardwareProfile& base,
                                    double l2_bytes) {
  std::vector<LevelEntry> entries;
  if (l2_bytes > 0) entries.push_back({"capacity", capacity_text(l2_bytes), "as the device reports it"});
  std::vector<int> order;
  std::vector<double> far_part;
  for (const auto& [block, unit] : points_of(measurement, launch_order_curve)) order.push_back(static_cast<int>(unit));
  for (const auto& [unit, part] : points_of(measurement, far_lines_curve)) far_part.push_back(part);
  const std::vector<UnitGroup> groups = groups_of_order(order, far_part);
  const auto most = std::max_element(groups.begin(), groups.end(),
                                     [](const auto& a, const auto& b) { return a.partition < b.partition; });
  const int partitions =
      groups.empty() ? base.l2_partitions ? static_cast<int>(base.l2_partitions->value) : 1 : most->partition + 1;
  if (!groups.empty())
    entries.push_back({"partitions", std::to_string(partitions), "latency of the lines that SM 0 has loaded, by SM"});
  if (const Points slices = points_of(measurement, validate::slices_curve); !slices.empty())
    entries.push_back({"slices", fmt::format("{:.0f}", slices.front().second),
                       "counter lts__t_sectors: sum divided by mean over slices"});
  const Associativity found =
      fit_associativity(std::llround(l2_bytes), partitions, points_of(measurement, read_again_curve),
                        points_of(measurement, stored_again_curve));
  if (found.ways > 0) {
    const auto note = [](const char* sweeps, double difference) {
      return fmt::format(
          "{} of 64 KiB pieces at random addresses; the cache model of this many is {:.3f} from the "
          "curve (root of the mean squared difference)",
          sweeps, difference);
    };
    entries.push_back({"ways", std::to_string(found.ways), note("sweeps", found.read_difference)});
    entries.push_back(
        {"dirty_ways", std::to_string(found.dirty_ways), note("sweeps with stores", found.store_difference)});
  }
  const bool known = base.l2_groups && same_cycle(base.l2_groups->value, groups);
  if (!groups.empty() && !known)
    entries.push_back(
        {"groups", unit_groups_text(groups),
         "SMs and their L2 partition in the order in which a launch fills them: SM of each block, latency "
         "of the lines that SM 0 has loaded"});
  return entries;
}

}  // namespace tilescope::cli
