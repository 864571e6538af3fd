// Tables of GPU profiles.
#pragma once

#include <filesystem>

#include "cli/output/table.h"
#include "hardware/profile.h"

namespace tilescope::cli {

Table hardware_list_table(const std::filesystem::path& folder);  // a row a profile of the folder
Table hardware_show_table(const HardwareProfile& profile);       // a row a value, with its source

}  // namespace tilescope::cli
