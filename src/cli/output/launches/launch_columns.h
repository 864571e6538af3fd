// Columns of `tilescope run`: attention launches of a program.
#pragma once

#include "launches/rows.h"
#include "predict/explain/column.h"

namespace tilescope::cli {

const Columns<launches::LaunchRow>& launch_columns();
ColumnList launch_column_list();

}  // namespace tilescope::cli
