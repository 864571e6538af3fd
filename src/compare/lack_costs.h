// What it costs a profile to lack a measured value: how much predicted times change when the rule of derived.h stands
// in for it. Measured GPUs lose one entry at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/explain/column.h"
#include "records/experiment.h"

namespace tilescope {

struct LackCost {
  std::string entry;  // "measured.hbm.read"; every_entry: all of them at once
  std::size_t points = 0;
  double mean = 0, worst = 0;  // of |time with the derived value / time with the measured one - 1|
};
inline constexpr const char* every_entry = "all entries";

// The costs of all entries that have a rule on the measured GPUs, at the points of an experiment.
std::vector<LackCost> lack_costs(const std::filesystem::path& data_directory, const validate::Experiment& experiment,
                                 const std::function<void(std::size_t done, std::size_t all)>& progress = {});

const Columns<LackCost>& lack_cost_columns();
Json to_json(const std::vector<LackCost>& costs);  // tilescope/lack-costs/1

// The costs that a file holds, by entry; empty where there is no file.
std::map<std::string, LackCost> read_lack_costs(const std::filesystem::path& file);

}  // namespace tilescope
