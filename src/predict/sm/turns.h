// Warpgroups that take turns at the special functions of a step: each does its products and its maxima, waits for its
// turn, and multiplies again. All is in one order and takes the same time each, so the steps are played through.
#pragma once

#include <cstdint>

namespace tilescope {

struct SpecialTurns {
  double first = 0, last = 0;  // clocks of the matrix unit before and after the special functions; one group at a time
  double before = 0;           // the group's own clocks between its first products and its turn
  double special = 0;          // its turn
  double after = 0;            // its own from its last product to the next step

  // Clocks of a step of `groups` groups, at most 8 of them, once they are in step.
  double round(std::int64_t groups) const;
};

}  // namespace tilescope
