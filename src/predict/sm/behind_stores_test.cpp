// Tests that steps wait for memory while SMs store: against the wait that repeated substitution finds.
#include <doctest/doctest.h>

#include <random>

#include "base/test_seed.h"
#include "predict/point/mechanisms.h"
#include "predict/textbook.h"

namespace tilescope::behind_stores_test {
namespace {

// By how many blocks share a unit; and what all blocks of a launch store to memory.
struct Steps {
  BlockClocks clocks;
  double stored = 0;
  std::int64_t blocks = 0, resident = 0;
  double count = 0;
};

Steps steps_of(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  const Staged stages = staged(plan, hardware, point);
  const LaunchAtSm& launch = stages.launches.front();
  const double count = steps_of_launch(launch.bound);
  return {sm_step(launch, count).clocks, static_cast<double>(launch.counts.traffic.written(Boundary::hbm)),
          grid_blocks(launch.bound), launch.resident(), count};
}

}  // namespace

TEST_CASE("a step that waits for memory waits longer, the more of memory's time stores take") {
  const HardwareProfile h200 = find_profile("h200_sxm", data / "hardware");
  HardwareProfile without_wait = h200;
  without_wait.measured->hbm.write_wait.reset();
  const auto& hbm = h200.measured->hbm;
  const Plan plan = load_plan_for_kernel("flash1", data);
  std::mt19937 random(test_seed());
  MESSAGE("seed " << test_seed());
  int longer = 0;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t length = 2048 + static_cast<std::int64_t>(random() % 4000), heads = 16 << (random() % 3);
    Point point = default_point(plan);
    point.workload = {4, heads, heads, length, length, 64, 64};
    for (const KernelVariant& variant : plan.kernel.variants)
      if (variant.head_dim == 64 && variant.tile_q == 64 && variant.tile_kv == 64)
        take_variant(point, plan.schedule, variant);
    const Steps with = steps_of(plan, h200, point), idle = steps_of(plan, without_wait, point);
    point.time = without(Mechanism::behind_stores);
    CHECK(steps_of(plan, h200, point).clocks == idle.clocks);
    const double hz = highest_clock(h200, plan.kernel.islands.front());
    for (std::int64_t j = 1; j <= with.resident; ++j) {
      const auto at = static_cast<std::size_t>(j - 1);
      const auto at_once = static_cast<double>(std::min(with.blocks, j * h200.units.value));
      // Every block at once stores its part in each step, which takes memory that part of the step's time.
      const double seconds = with.stored / with.count * at_once / hbm.write->value;
      double most = idle.clocks.step[at];
      for (int turn = 0; turn < 200; ++turn)
        most = (most + idle.clocks.step[at] + hbm.write_wait->value * hz * (seconds * hz / most)) / 2;
      CHECK(with.clocks.step[at] >= idle.clocks.step[at]);
      CHECK(with.clocks.step[at] <= most * (1 + 1e-9));  // all of what it waits for comes from memory
      longer += with.clocks.step[at] > idle.clocks.step[at] + (most - idle.clocks.step[at]) / 2;
    }
  }
  CHECK(longer > 6);
}

}  // namespace tilescope::behind_stores_test
