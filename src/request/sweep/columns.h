// The columns of a sweep's rows.
#pragma once

#include <vector>

#include "predict/explain/prediction_columns.h"
#include "request/options.h"

namespace tilescope {

// Without those that only an axis changes and that no axis of the options does: they are the same in all rows.
std::vector<PredictionColumn> without_idle(std::vector<PredictionColumn> columns, const Options& options);

}  // namespace tilescope
