// The table of `capture list`.
#pragma once

#include <string>

#include "predict/explain/column.h"
#include "records/capture/summary.h"

namespace tilescope::cli {

struct ListedKernel {
  capture::KernelShare share;
  std::string attention;  // why the kernel may compute attention; empty: no sign of it
};

const Columns<ListedKernel>& capture_columns();
ColumnList capture_column_list();

}  // namespace tilescope::cli
