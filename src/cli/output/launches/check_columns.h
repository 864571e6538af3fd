// The table of `describe --check`.
#pragma once

#include "launches/check_description.h"
#include "predict/explain/column.h"

namespace tilescope::cli {

const Columns<launches::CheckedQuantity>& check_columns();
ColumnList check_column_list();

}  // namespace tilescope::cli
