// What memory and the L2 take for a launch: by itself with an empty L2, and in the sequence of the schedule's launches.
#pragma once

#include "predict/l2/handed_over.h"

namespace tilescope {

struct MemoryTime {
  double hbm = 0, l2 = 0;       // s of the launch by itself; < 0: the profile lacks the rate
  double last_level = 0;        // the same of the last-level cache; 0: there is none
  double in_sequence = 0;       // s of the slowest of them, for the bytes that no earlier launch left in the L2
  double read_in_sequence = 0;  // bytes that memory then brings
  bool inputs_evicted = false;  // in sequence the blocks that end last find nothing of what earlier launches wrote

  // Of the time by itself, the part that is left in sequence.
  double part_in_sequence() const;
};
MemoryTime memory_time(const BoundIsland& bound, Launches launches);

}  // namespace tilescope
