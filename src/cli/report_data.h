// The one JSON object that every rendering of a report is made from (schema tilescope/report/1).
#pragma once

#include "compare/compare.h"
#include "hardware/profile.h"

namespace tilescope::cli {

Json report_data(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                 const std::string& date);

}  // namespace tilescope::cli
