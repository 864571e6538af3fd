// An experiment file: which points to measure, and how near a prediction must come to each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/point.h"

namespace tilescope::validate {

inline constexpr std::string_view experiment_schema = "tilescope/experiment/1";

// Restricts a tolerance to some points; every condition given must hold.
struct ToleranceCondition {
  std::optional<std::string> mask, dtype;
  std::optional<std::int64_t> head_dim;              // d_qk
  std::optional<std::int64_t> q_len_min, q_len_max;  // inclusive
  std::optional<std::int64_t> kv_len_min, kv_len_max;
  std::optional<bool> spills;    // the kernel has local memory
  std::optional<bool> kv_in_l2;  // K and V of the heads that run at the same time fit well inside the L2
};

// Accepted: |measured - predicted| <= tolerance * predicted + slack.
struct Tolerance {
  std::string quantity;                                 // "tensor_flop", "traffic", "xu", "seconds", ...
  std::optional<std::string> kernel, level, direction;  // unset: any
  ToleranceCondition when;
  std::optional<double> tolerance;  // relative; unset ("report" in the file): shown, never judged
  double slack = 0;                 // absolute, in the quantity's unit
  std::string reason;               // why this much
};

struct Experiment {
  std::string name, hardware, file;
  int cold_repeats = 10, steady_repeats = 20;
  bool blind = false;  // its points were measured after the model was settled, and no residual of them was used since
  std::vector<MeasurePoint> points;   // grids expanded, in file order, no two with the same id; empty: tolerances alone
  std::vector<Tolerance> tolerances;  // the first that matches decides
};

// Reads an experiment. Throws InputError with every finding.
Experiment load_experiment(const std::filesystem::path& file);
Experiment parse_experiment(std::string_view text, const std::string& file_name);

// What decides which tolerance applies to one compared number.
struct ToleranceQuery {
  std::string quantity, level, direction;  // level and direction empty where the quantity has none
  MeasurePoint point;
  bool spills = false, kv_in_l2 = false;
};

// The first tolerance that matches; nullptr when none does (the number is then reported without a verdict).
const Tolerance* find_tolerance(const Experiment& experiment, const ToleranceQuery& query);

}  // namespace tilescope::validate
