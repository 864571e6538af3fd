// The table of `inspect`.
#pragma once

#include "kernel/code/cubin.h"
#include "predict/explain/column.h"

namespace tilescope::cli {

struct InspectedKernel {
  std::string compute_capability;
  CubinKernel kernel;
};

const Columns<InspectedKernel>& code_columns();
ColumnList code_column_list();

}  // namespace tilescope::cli
