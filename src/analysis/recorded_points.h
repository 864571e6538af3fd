// For tests: recorded points of the H200, set against the model.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "records/record.h"

namespace tilescope::analysis {

inline const std::filesystem::path source_directory = TILESCOPE_SOURCE_DIR;

// A point that several tests use.
inline const std::string reference_point = "main/reference-fp16-b1-hq16-hkv16-q4096-kv4096-d128-none-tq128-tkv128-w4";

inline const HardwareProfile& h200() {
  static const HardwareProfile profile = find_profile("h200_sxm", source_directory / "hardware");
  return profile;
}

// Names: EXPERIMENT/POINT. Tolerances are those of the experiment `main`.
inline Comparison compare_points(const std::vector<std::string>& names) {
  static const validate::Experiment experiment =
      validate::load_experiment(source_directory / "validate/experiments/main.yaml");
  static std::map<std::string, validate::Record> all;  // of the experiments named so far, by EXPERIMENT/POINT
  static std::set<std::string> read_already;
  std::vector<validate::Record> records;
  for (const std::string& name : names) {
    const std::string of = name.substr(0, name.find('/'));
    if (read_already.insert(of).second)
      for (validate::Record& record :
           validate::read_records(source_directory / "validate/records/h200" / (of + ".jsonl")))
        all.emplace(of + "/" + point_id(record.point), std::move(record));
    records.push_back(all.at(name));
  }
  return compare_records(records, source_directory,
                         [](const std::string&) -> const validate::Experiment& { return experiment; });
}

}  // namespace tilescope::analysis
