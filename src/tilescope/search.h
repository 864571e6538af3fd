// The best tiles of a point.
#pragma once

#include "tilescope/types.h"

namespace tilescope::api {

struct Found {
  Table feasible;    // best first, at most "top" (default 10)
  Table infeasible;  // with the level that is too small
  std::string json;  // what `tilescope search --format json` prints
};

Found search(const Options& options);

}  // namespace tilescope::api
