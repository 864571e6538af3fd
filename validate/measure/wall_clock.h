// Seconds of the host.
#pragma once

#include <chrono>

namespace tilescope::validate {

using WallClock = std::chrono::steady_clock;

inline double seconds_since(WallClock::time_point start) {
  return std::chrono::duration<double>(WallClock::now() - start).count();
}

}  // namespace tilescope::validate
