#include "predict/time/gains.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace tilescope {

std::array<double, lever_count> gains_of(std::span<const LaunchAtSm> launches, std::span<const LaunchTime> times,
                                         const Repeats& repeats, const EnergyByItem& energy, double gaps,
                                         double total) {
  std::array<double, lever_count> gains{};
  at_once(lever_count, [&](std::size_t lever) {
    std::vector<LaunchTime> faster_times(launches.size());
    Faster faster = as_it_is;
    faster[lever] = 1.1;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const LaunchAtSm launch = launches[i];  // a copy: each lever places blocks for itself
      const SmClocks clocks = sm_clocks(launch, faster);
      const LaunchTime by_itself = launch_time(launch, clocks, placed_blocks(launch, clocks), faster);
      faster_times[i] = time_in_sequence(launch, by_itself, repeats, faster);
      faster_times[i].memory_wait = times[i].memory_wait;
    }
    const double more_power = faster_by(faster, Lever::power),
                 hz = sustained_clock(launches.front().bound.hardware, faster_times, energy, gaps, more_power).hz;
    double seconds = gaps;
    for (const LaunchTime& time : faster_times) seconds += time.seconds(hz);
    gains[lever] = std::max(0.0, 1 - seconds / total);
  });
  return gains;
}

}  // namespace tilescope
