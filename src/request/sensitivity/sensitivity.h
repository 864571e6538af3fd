// What each number of a GPU is worth for one point: time and bytes of HBM with the number smaller and larger.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "predict/explain/column.h"
#include "request/answer.h"
#include "request/option_specs.h"

namespace tilescope {

// The point with one number changed.
struct ChangedPoint {
  double value = 0;  // of the number, in base units
  bool runs = false;
  double seconds = 0;  // of a point that runs
  std::int64_t hbm_bytes = 0;
  std::string reason = {};  // why it does not run
};

struct SensitivityRow {
  std::string path;  // as --set takes it
  Dimension dimension = Dimension::count;
  double value = 0;
  ChangedPoint down, up;
  double seconds = 0;  // of the unchanged point
  std::int64_t hbm_bytes = 0;

  double time_change(const ChangedPoint& changed) const;  // relative; infinite where the point does not run
  double hbm_change(const ChangedPoint& changed) const;
  bool matters() const;  // time or bytes change by 0.05 percent or more
};

struct Sensitivity {
  Answer unchanged;
  double percent = 20;
  std::string note = {};             // why the closed form answers where nothing asks for it; empty: it does not
  bool retiled = false;              // a tile was searched for each changed GPU
  std::vector<SensitivityRow> rows;  // largest change of time first, then of bytes, then by path
  Json json() const;                 // tilescope/sensitivity/1
};

Columns<SensitivityRow> sensitivity_columns();
ColumnList sensitivity_column_list();

std::vector<OptionSpec> sensitivity_options();  // point_options, --step, --numbers, --retile

// Throws InputError where `predict` does; the answer's rows are empty if the unchanged point does not run.
Sensitivity sensitivity_of(const Options& options,
                           const std::function<void(std::size_t done, std::size_t all)>& progress = {});

}  // namespace tilescope
