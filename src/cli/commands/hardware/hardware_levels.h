// Properties of memory levels that follow from the curves of `hardware measure`.
#pragma once

#include <optional>
#include <vector>

#include "hardware/measured_write.h"
#include "hardware/profile.h"
#include "validate/measure/hardware/hardware_measure.h"

namespace tilescope::cli {

// `capacity`, `partitions`, `slices`, `ways`, `dirty_ways` and `groups` of `levels.l2`, as far as the measurement tells
// them. Groups that are those of `base` in the same cyclic order are left out: launches begin at any of them.
std::vector<LevelEntry> measured_l2(const validate::HardwareMeasurement& measurement, const HardwareProfile& base,
                                    double l2_bytes);

}  // namespace tilescope::cli
