// Tables of GPU profiles.
#pragma once

#include <filesystem>

#include "cli/output/table.h"
#include "hardware/profile.h"

namespace tilescope::cli {

// A rule that a profile keeps or breaks.
struct CheckRow {
  std::string profile, rule, result, finding;
};

Table hardware_list_table(const std::filesystem::path& folder);     // a row a profile of the folder
Table hardware_show_table(const HardwareProfile& profile);          // a row a value, with its source
Table hardware_check_table(const std::vector<CheckRow>& findings);  // a row a profile and rule

std::vector<ColumnList> hardware_column_lists();  // for the docs

}  // namespace tilescope::cli
