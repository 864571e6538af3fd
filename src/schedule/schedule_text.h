// A schedule from text in memory, as `derive --save` writes it.
#pragma once

#include <filesystem>
#include <string>

#include "schedule/schedule.h"

namespace tilescope {

// The text of a file of tilescope/schedule/1. Throws InputError with every finding.
Schedule parse_schedule(const std::string& text, const std::filesystem::path& models_directory);

}  // namespace tilescope
