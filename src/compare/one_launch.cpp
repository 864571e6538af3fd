#include "compare/one_launch.h"

#include <fmt/format.h>

#include "base/contains.h"
#include "base/text.h"
#include "compare/third_party.h"

namespace tilescope {

int only_launch(const validate::Record& record, const Schedule& schedule) {
  if (record.islands.size() != 1 || schedule.islands.size() < 2) return -1;
  return schedule.find_island(record.islands.front().name);
}

void check_launches(const validate::Record& record, const Plan& plan, const HardwareProfile& hardware,
                    std::vector<Diagnostic>& findings) {
  for (std::size_t i = 0; i < record.islands.size(); ++i)
    if (const std::int64_t blocks = record.islands[i].launch.blocks_per_unit;
        hardware.max_blocks_per_unit && blocks > hardware.max_blocks_per_unit->value)
      findings.push_back({.file = record.file,
                          .path = fmt::format("islands[{}].launch.blocks_per_unit", i),
                          .message = fmt::format("is {}: an SM of {} holds at most {} blocks", blocks, hardware.id,
                                                 hardware.max_blocks_per_unit->value)});
  if (record.source || !record.environment.tool.empty() || is_third_party(plan)) return;
  std::vector<std::string> known, seen;
  for (const Island& island : plan.schedule.islands) known.push_back(island.name);
  const auto report = [&](const std::string& path, const std::string& message) {
    findings.push_back({.file = record.file, .path = path, .message = message});
  };
  for (std::size_t i = 0; i < record.islands.size(); ++i) {
    const std::string &name = record.islands[i].name, path = fmt::format("islands[{}].name", i);
    if (!contains(known, name))
      report(path, fmt::format("kernel '{}' has no launch {}{}", plan.kernel.name, shown_text(name),
                               did_you_mean(name, known)));
    else if (contains(seen, name)) report(path, fmt::format("'{}' is there twice; keep one", name));
    seen.push_back(name);
  }
  if (record.islands.size() > 1 && record.islands.size() < known.size() && findings.empty())
    report("islands", fmt::format("expected one launch of kernel '{}' or all: {}; found {} of {}", plan.kernel.name,
                                  join(known, ", "), record.islands.size(), known.size()));
}

void keep_launch(int launch, Prediction& prediction) {
  const IslandPrediction& kept = prediction.islands.at(static_cast<std::size_t>(launch));
  prediction.work = kept.work, prediction.traffic = kept.traffic;
  prediction.operand_bytes = kept.operand_bytes, prediction.bulk_smem = kept.bulk_smem;
  std::erase_if(prediction.terms, [&](const Term& term) { return term.island != launch; });
  TimePrediction& time = prediction.time;
  time.seconds = kept.resource_seconds, time.bound_by = kept.bound_by;
  time.total = time.cold = kept.seconds, time.launch = 0;
  time.sm_cycles = kept.sm_clocks, time.busy_cycles = kept.busy_clocks;
  time.gain = {};
}

}  // namespace tilescope
