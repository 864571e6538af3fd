#include "predict/gains.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace tilescope {

std::array<double, lever_count> gains_of(std::span<const LaunchAtSm> launches, std::span<const LaunchTime> times,
                                         const EnergyByItem& energy, double gone, double gaps, double total) {
  std::array<double, lever_count> gains{};
  at_once(lever_count, [&](std::size_t lever) {
    std::vector<LaunchTime> faster_times;
    for (const LaunchAtSm& usual : launches) {
      LaunchAtSm launch = usual;  // each lever places blocks for itself
      launch.faster[lever] = sm_faster_by;
      const SmStep step = sm_clocks(launch);
      LaunchTime time = time_in_sequence(launch, launch_time(launch, step, placed_blocks(launch, step)), gone);
      time.memory_wait = times[faster_times.size()].memory_wait;
      faster_times.push_back(time);
    }
    const double more_power = lever == static_cast<std::size_t>(Lever::power) ? sm_faster_by : 1,
                 hz = sustained_clock(launches.front().bound.hardware, faster_times, energy, gaps, more_power).hz;
    gains[lever] = std::max(0.0, 1 - total_seconds(faster_times, hz, gaps) / total);
  });
  return gains;
}

}  // namespace tilescope
