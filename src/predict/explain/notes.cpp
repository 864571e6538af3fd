#include "predict/explain/notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"

namespace tilescope {

std::string spill_text(const Prediction& prediction) {
  if (!prediction.time.spills) return {};
  if (!prediction.time.spills_traffic)
    return "warning: this variant spills registers to memory; neither their traffic nor their time is in these figures";
  LocalTraffic all;
  for (const IslandPrediction& island : prediction.islands) {
    all.stored = checked_add(all.stored, island.local.stored),
    all.loaded = checked_add(all.loaded, island.local.loaded);
    all.missed = checked_add(all.missed, island.local.missed);
  }
  const std::string text =
      fmt::format("spilled registers: {} bytes stored to L2, {} loaded, {} of them from L2", with_thousands(all.stored),
                  with_thousands(all.loaded), with_thousands(all.missed));
  return prediction.time.spills_time ? text
                                     : "warning: the time leaves them out, the profile has no measured.local; " + text;
}

namespace {

// A walk through an L2 of unknown associativity takes it as fully associative.
bool walks_without_ways(const HardwareProfile& hardware, const Prediction& prediction) {
  return !hardware.l2_ways && std::any_of(prediction.islands.begin(), prediction.islands.end(),
                                          [](const IslandPrediction& island) { return island.l2_walked; });
}

// Reductions into the L2 are free where their rate is unknown.
bool reduces_without_rate(const Plan& plan, const HardwareProfile& hardware, const Prediction& prediction) {
  if (!prediction.time.modelled || (hardware.measured && hardware.measured->atomics.red_fp32)) return false;
  const auto reduces = [](const Island& island) {
    return std::any_of(island.stored_as.begin(), island.stored_as.end(),
                       [](const Stored& stored) { return stored.by == Accumulate::reduction; });
  };
  return std::any_of(plan.schedule.islands.begin(), plan.schedule.islands.end(), reduces);
}

}  // namespace

std::vector<std::string> missing_rates(const Plan& plan, const HardwareProfile& hardware,
                                       const Prediction& prediction) {
  static const std::array<std::string, resource_count> fields{"levels.hbm.bandwidth",
                                                              "levels.l2.bandwidth",
                                                              "levels.smem.bandwidth_per_cycle",
                                                              "compute.tensor (for this dtype)",
                                                              "compute.exp2",
                                                              "compute.fp32_fma"};
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (prediction.time.seconds[i] < 0) missing.push_back(fmt::format("{} of {}", fields[i], hardware.id));
  if (walks_without_ways(hardware, prediction)) missing.push_back(fmt::format("levels.l2.ways of {}", hardware.id));
  if (reduces_without_rate(plan, hardware, prediction))
    missing.push_back(fmt::format("measured.atomics.red_fp32 of {}", hardware.id));
  return missing;
}

}  // namespace tilescope
