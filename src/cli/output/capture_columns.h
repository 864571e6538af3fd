// The table of `capture list`.
#pragma once

#include "predict/explain/column.h"
#include "records/capture/summary.h"

namespace tilescope::cli {

const Columns<capture::KernelShare>& capture_columns();
ColumnList capture_column_list();

}  // namespace tilescope::cli
