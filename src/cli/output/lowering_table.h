// The plans of a lowering as a table.
#pragma once

#include "cli/output/table.h"
#include "lower/result.h"

namespace tilescope::cli {

Table lowering_table(const lower::LoweringResult& result);  // one row per plan
ColumnList lowering_column_list();                          // for the docs

}  // namespace tilescope::cli
