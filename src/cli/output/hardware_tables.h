// Tables of GPU profiles.
#pragma once

#include <filesystem>

#include "cli/output/table.h"
#include "hardware/profile.h"

namespace tilescope::cli {

// The result of checking one rule on one profile.
struct CheckRow {
  std::string profile, rule, result, finding;
};

Table hardware_list_table(const std::filesystem::path& folder);     // one row per profile of the folder
Table hardware_show_table(const HardwareProfile& profile);          // one row per value, with its source
Table hardware_check_table(const std::vector<CheckRow>& findings);  // one row per profile and rule

std::vector<ColumnList> hardware_column_lists();  // for the docs

}  // namespace tilescope::cli
