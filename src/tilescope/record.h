// Predictions beside measurements.
#pragma once

#include "tilescope/types.h"

namespace tilescope::api {

// Predicts every record of a directory or file of records and sets it against what was measured. A row each quantity:
// point, hardware, kernel, quantity, level, direction, predicted, measured, tolerance, verdict ("pass", "fail", "info":
// shown, not judged).
Table compare_records(const std::string& path);

}  // namespace tilescope::api
