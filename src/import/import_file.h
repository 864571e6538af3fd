// A file of another tool as records: read, recognised, joined by point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/make_records.h"
#include "import/read_tool_file.h"

namespace tilescope::imported {

struct Imported {
  ToolFile file;
  std::vector<FoundRun> runs;
  std::vector<validate::Record> records;  // by point
  std::string hardware;                   // empty: no launch asked for it
};

// `ignored`: metrics of ncu to leave out. `caches`: before a launch, where the user knows.
Imported import_file(const std::string& path, Asked asked, const std::vector<std::string>& ignored,
                     std::optional<validate::Caches> caches);

}  // namespace tilescope::imported
