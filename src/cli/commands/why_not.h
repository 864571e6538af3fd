// explain --why-not AXIS:PARTITION
#pragma once

#include "base/error.h"
#include "cli/input/options.h"
#include "predict/explain/column.h"

namespace tilescope::cli {

// Prints for every kernel of the schedule whether its loop nest may partition the axis as asked, and the rule that
// forbids it. Returns done if every kernel allows it, otherwise answer_no.
ExitStatus print_why_not(const Arguments& arguments, const Schedule& schedule);

ColumnList why_not_column_list();  // for the docs

}  // namespace tilescope::cli
