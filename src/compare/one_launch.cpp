#include "compare/one_launch.h"

namespace tilescope {

int only_launch(const validate::Record& record, const Schedule& schedule) {
  if (record.islands.size() != 1 || schedule.islands.size() < 2) return -1;
  return schedule.find_island(record.islands.front().name);
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
