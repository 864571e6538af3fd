// One point: bytes at every memory level, and time.
#pragma once

#include "tilescope/types.h"

namespace tilescope::api {

struct Traffic {
  std::string level;                             // "hbm", "l2", "smem", "register"
  std::int64_t read_bytes = 0, write_bytes = 0;  // served to the level inside it, and taken from it
};

struct Prediction {
  bool feasible = false;  // false: the point does not fit; `json` says which level is too small
  double seconds = 0;     // back to back; 0 where it is infeasible or a rate is missing
  std::string bound_by;   // the busiest resource
  std::vector<Traffic> traffic;
  std::string json;  // all that `tilescope predict --format json` prints
};

// Without the option "tile" the best tile is searched for, as on the command line.
Prediction predict(const Options& options);

}  // namespace tilescope::api
