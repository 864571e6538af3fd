// Tests only: running a shipped lowering and finding a row of its result by name.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "lower/result.h"

namespace tilescope::lower {

inline const std::filesystem::path root = TILESCOPE_SOURCE_DIR;

inline std::filesystem::path file_of(const std::string& name) {
  return root / "models" / "lowerings" / (name + ".yaml");
}
inline LoweringResult run(const std::string& name) { return run_lowering(file_of(name), root); }
inline Lowering load(const std::string& name) { return load_lowering(file_of(name), root); }

inline const LevelFit& level(const PlanResult& plan, const std::string& name) {
  for (const LevelFit& fit : plan.configuration.levels)
    if (to_string(fit.level) == name) return fit;
  FAIL("no level " << name);
  return plan.configuration.levels.front();
}

inline double clocks_of(const PlanResult& plan, const std::string& operation) {
  for (const OperationClocks& row : plan.throughput.operations)
    if (row.name == operation) return row.clocks;
  FAIL("no operation " << operation);
  return 0;
}

inline double pipe(const PlanResult& plan, const std::string& name) {
  for (const PipeClocks& row : plan.throughput.pipes)
    if (row.pipe == name) return row.clocks;
  FAIL("no pipe " << name);
  return 0;
}

inline const DivisorResult& divisor(const PlanResult& plan, const std::string& size) {
  return *std::find_if(plan.divisors.begin(), plan.divisors.end(),
                       [&](const DivisorResult& d) { return d.size == size; });
}

}  // namespace tilescope::lower
