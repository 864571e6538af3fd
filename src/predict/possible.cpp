#include "predict/possible.h"

#include <fmt/format.h>

#include <cmath>

namespace tilescope {
namespace {

[[noreturn]] void refuse(const char* what, double value) {
  throw ImpossiblePrediction(fmt::format("the prediction has {} of {}", what, value));
}

inline void require(bool holds, const char* what, double value) {
  if (!holds) refuse(what, value);
}

void require_amount(const char* what, double value) { require(std::isfinite(value) && value >= 0, what, value); }

}  // namespace

void require_possible(const Prediction& prediction, Wanted wanted) {
  for (const Term& term : prediction.terms) require(term.bytes >= 0, "a term", static_cast<double>(term.bytes));
  for (int level = 0; level < level_count; ++level)
    for (const std::int64_t bytes : prediction.traffic[static_cast<LevelId>(level)])
      require(bytes >= 0, "a level's bytes", static_cast<double>(bytes));
  if (const std::int64_t bytes = prediction.traffic.both(LevelId::hbm); bytes < prediction.compulsory_bytes)
    throw ImpossiblePrediction(
        fmt::format("the prediction has {} bytes at HBM, below the compulsory {}", bytes, prediction.compulsory_bytes));
  if (wanted > Wanted::times) return;
  for (const IslandPrediction& launch : prediction.islands) {
    require_amount("a launch's seconds", launch.seconds);
    require_amount("a launch's clocks", launch.sm_clocks);
  }
  const TimePrediction& time = prediction.time;
  for (const double seconds : time.seconds) require(std::isfinite(seconds), "a resource's seconds", seconds);
  require_amount("seconds", time.total);
  require_amount("seconds of a single run", time.cold);
  require_amount("SM clocks", time.sm_cycles);
  require_amount("a clock rate", time.clock_hz);
  require_amount("a power", time.watts);
  for (const double gain : time.gain) require_amount("a saving", gain);
}

}  // namespace tilescope
