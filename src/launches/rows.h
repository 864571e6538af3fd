// Attention launches of a program, predicted and set beside what was counted: a row each.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "launches/program.h"

namespace tilescope::launches {

struct PredictedAndCounted {
  double predicted = 0;
  std::optional<double> counted;
};

struct LaunchPrediction {
  std::string sizes;  // "2 x 16 heads, 2048 x 2048, d128, causal"
  PredictedAndCounted seconds, flop, hbm_read, hbm_write, l2_read, l2_write, smem_read;
  double operand_bytes = 0;  // predicted: what matrix instructions read from shared memory
  std::string bound_by;      // the busiest resource
  std::string helps;         // what saves most were it 10 % faster; empty: not modelled, or nothing does
  double helps_part = 0;     // part of the time that it saves
  std::vector<ComparisonRow> compared;
};

struct LaunchRow {
  AttentionLaunches launches;
  std::optional<LaunchPrediction> prediction;  // absent: `launches.missing` says why
};

// Tolerances of `gate` judge what was counted; without any nothing is judged.
std::vector<LaunchRow> launch_rows(const ProgramLaunches& program, const std::filesystem::path& data_directory,
                                   const validate::Experiment& gate);

RowCounts gate_counts(const std::vector<LaunchRow>& rows);

}  // namespace tilescope::launches
