// What each mechanism of the time model is worth: the errors of all records with it, and without it.
#pragma once

#include <filesystem>

#include "compare/compare.h"

namespace tilescope {

// Errors under one choice of the time model.
struct AblationRow {
  std::string choice;          // a mechanism that is taken out, an engine, or "all": the model as it is
  std::string meaning;         // of the mechanism
  std::string kernel = "all";  // or one kernel
  std::size_t n = 0;           // points over 20 us
  std::size_t changed = 0;     // of all points, those whose SM cycles or seconds changed by more than 0.01 %
  double cycles_mean = 0, cycles_worst = 0;    // SM cycles of points over 20 us
  double seconds_mean = 0, seconds_worst = 0;  // s of points over 20 us, run after run
  double short_mean = 0;                       // s of points under 20 us
  double cycles_gain = 0, seconds_gain = 0;    // of the mean error by the mechanism, over the points that changed
};

enum class Ablations { mechanisms, engines };

// Rows for the model as it is and for each choice, each first for all kernels together, then by kernel.
std::vector<AblationRow> ablations(const std::filesystem::path& records, const std::filesystem::path& data_directory,
                                   Ablations of, const CompareProgress& progress = {});

}  // namespace tilescope
