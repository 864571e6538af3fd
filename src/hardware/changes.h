// A GPU that differs from its profile for one question: "h200_sxm[levels.hbm.bandwidth=+20%;compute.units=160]".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "hardware/profile.h"

namespace tilescope {

// "h200_sxm[compute.units=160]" as "h200_sxm" and "compute.units=160"; without brackets the second is empty.
std::pair<std::string, std::string> name_and_changes(const std::string& name);

// The name of a GPU with more changes, which --set gives: "a=1,b=2".
std::string changed_name(const std::string& name, const std::string& changes);

// A number of a profile that may be changed, in base units.
struct ProfileNumber {
  std::string path;  // as in the YAML: "levels.hbm.bandwidth", "measured.hbm.read"
  Dimension dimension = Dimension::count;
  double value = 0;
};
std::vector<ProfileNumber> profile_numbers(const HardwareProfile& profile);

// The profile with changed numbers. Rates that the profile states and that a rule (derived.h) ties to a changed number
// follow it, as if the unchanged GPU were the nearest measured one. Numbers of `measured` wait for
// apply_rate_changes. Throws InputError for a path that is no number of the profile, and for a wrong value.
HardwareProfile with_changes(HardwareProfile profile, const std::string& changes);

// Changes numbers of `measured`, once rules have filled in what the profile lacks.
void apply_rate_changes(HardwareProfile& profile);

}  // namespace tilescope
