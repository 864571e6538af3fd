// The kernel family on one GPU, from its records.
#pragma once

#include <string>

#include "analysis/family/model.h"
#include "compare/compare.h"
#include "hardware/profile.h"

namespace tilescope::analysis {

// All points of `comparison` are of `hardware`. `revision` and `date` are those of the records.
FamilyPage family_of(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                     const std::string& date);

// Schema tilescope/family/1.
Json to_json(const FamilyPage& family);

}  // namespace tilescope::analysis
