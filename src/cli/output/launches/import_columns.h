// Columns of `tilescope import`: what a file of another tool holds.
#pragma once

#include <string>
#include <vector>

#include "import/recognise.h"
#include "predict/explain/column.h"

namespace tilescope::cli {

// Launches of one kernel that were recognised, or not, in the same way.
struct ImportedRow {
  std::string kernel;  // short names of a run's launches
  std::size_t launches = 0;
  double seconds = 0, share = 0;  // of all launches of the file
  std::string descriptor, point;  // empty: not recognised
  std::string reason;             // why not
};

std::vector<ImportedRow> imported_rows(const imported::ToolFile& file, const std::vector<imported::FoundRun>& runs);

const Columns<ImportedRow>& import_columns();
ColumnList import_column_list();

}  // namespace tilescope::cli
