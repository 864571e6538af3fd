// The lines of a roofline: what a GPU's memories deliver and its units compute at best.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analysis/report/model.h"
#include "hardware/profile.h"

namespace tilescope::analysis {

// One roof for each memory level whose bandwidth is known: the highest rate that a prediction's time may use.
std::vector<Roof> roofs(const HardwareProfile& hardware);

// One peak for each instruction path and format among `dtypes` that has a rate.
std::vector<Peak> peaks(const HardwareProfile& hardware, const std::set<std::string>& dtypes);

}  // namespace tilescope::analysis
