// Records of the runs that were recognised.
#pragma once

#include <vector>

#include "hardware/profile.h"
#include "import/recognise.h"
#include "records/record.h"

namespace tilescope::imported {

struct RecordOptions {
  std::string experiment;                  // name of the records
  std::string hardware;                    // the profile's id or file, as records name it
  std::optional<validate::Caches> caches;  // before a launch, where the user knows
};

// One record a point: runs of one point and launch shape are samples of one another. A run of a shape that differs from
// the first one of its point loses its point, and says why.
std::vector<validate::Record> make_records(const ToolFile& file, std::vector<FoundRun>& runs,
                                           const RecordOptions& options);

}  // namespace tilescope::imported
