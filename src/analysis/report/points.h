// What a report shows of one prediction.
#pragma once

#include <set>

#include "analysis/report/model.h"
#include "compare/compare.h"
#include "predict/explain/prediction_columns.h"

namespace tilescope::analysis {

// The point of a prediction alone. Its label opens with the kernel.
ReportPoint point_of(const PredictedPoint& row);

// "fused_mma fp16 N4096 d128 H32/8 causal h200_sxm".
std::string label_of(const PredictedPoint& row);

// The point of a record: the same with what was measured.
ReportPoint point_of(const ComparedPoint& compared, const HardwareProfile& hardware);

// The GPU with its roofs, and the peaks of the formats `dtypes`.
Hardware hardware_of(const HardwareProfile& hardware, const std::set<std::string>& dtypes);

}  // namespace tilescope::analysis
