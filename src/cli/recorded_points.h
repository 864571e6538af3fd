// For tests: recorded points of the H200, set against the model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "records/record.h"

namespace tilescope::cli {

inline const std::filesystem::path source_directory = TILESCOPE_SOURCE_DIR;

inline const HardwareProfile& h200() {
  static const HardwareProfile profile = find_profile("h200_sxm", source_directory / "hardware");
  return profile;
}

// Names: EXPERIMENT/POINT. Tolerances are those of the experiment `main`.
inline Comparison compare_points(const std::vector<std::string>& names) {
  static const validate::Experiment experiment =
      validate::load_experiment(source_directory / "validate/experiments/main.yaml");
  std::vector<validate::Record> records;
  for (const std::string& name : names)
    records.push_back(validate::read_record(source_directory / "validate/recorded/h200" / (name + ".json")));
  return compare_records(records, source_directory,
                         [](const std::string&) -> const validate::Experiment& { return experiment; });
}

}  // namespace tilescope::cli
