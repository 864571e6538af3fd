// Places of values in a program.
#pragma once

#include <vector>

namespace tilescope {

// Where a value exists: inside so many loops, before or after the loop inside, and perhaps only at the last visit to
// some accumulators.
struct Place {
  int level = -1;
  bool after = false;
  std::vector<int> last_of{};
};

// The outermost place, in the loops up to `level` at least, where all inputs exist. False: one of them is complete only
// outside the loop `place.level`, in which the value has to be.
bool join(const std::vector<Place>& inputs, int level, Place& place);

}  // namespace tilescope
