#include <doctest/doctest.h>

#include "predict/textbook.h"
#include "predict/time/launch_time.h"

namespace memory_wait_test {

using namespace tilescope;

TEST_CASE("blocks that stream tiles from memory take longer than the bytes alone and longer than the clocks alone") {
  HardwareProfile hardware = textbook();
  auto& m = *hardware.measured;
  m.hbm.read = {4e12, "M"}, m.hbm.write = {4e12, "M"}, m.l2.read_private = {8e12, "M"}, m.l2.write = {4e12, "M"};
  m.hbm.ramp = {1e-6, "M"};
  const Plan plan = load_plan_for_kernel("split_kv", data);
  Point point = attention(plan, 64, 8192, 128, 64, 4);
  point.l2 = L2Model::walk;
  point.workload.q_len = 2;
  const auto set_tile = [&](const char* name, std::int64_t value) {
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter(name))] = value;
  };
  set_tile("q", 16), set_tile("kv", 64), set_tile("splits", 4);
  const Prediction out = predicted(plan, hardware, point);
  const IslandPrediction& island = out.islands[0];
  const Staged stages = staged(plan, hardware, point);
  const LaunchAtSm& launch = stages.launches[0];
  const SmStep step = sm_clocks(launch);
  const LaunchTime by_itself = launch_time(launch, step, placed_blocks(launch, step));
  const double hz = by_itself.highest_hz, ramp = by_itself.ramp_seconds, floor = launch.memory.slowest();
  REQUIRE(ramp > 0);
  const MemoryWait wait = memory_wait(launch, ramp, hz, 1);
  CHECK(wait.cold > floor);
  CHECK(wait.cold < 2 * (floor + island.sm_clocks / hz));
  CHECK(wait.warm + wait.clocks / hz == doctest::Approx(wait.cold));
  CHECK(wait.clocks >= 0);
  CHECK(wait.busy <= wait.cold);
  CHECK(island.seconds >= wait.cold);
  // At a lower clock, the time of the SMs grows and the time of memory does not.
  const LaunchTime time{.clocks = island.sm_clocks, .memory_seconds = floor, .highest_hz = hz, .memory_wait = wait};
  CHECK(time.seconds(hz / 2) >= wait.warm + 2 * wait.clocks / hz);
  CHECK(time.seconds(hz / 2) <= 2 * time.seconds(hz));
  SUBCASE("the less of the tiles has left the L2 since the run before, the shorter is the wait") {
    m.tma.latency_l2 = {3e-7, "M"}, m.tma.latency_hbm = {6e-7, "M"};
    const Staged again = staged(plan, hardware, point);
    double last = 0;
    for (const double gone : {0.0, 0.3, 0.7, 0.99, 1.0}) {
      const MemoryWait some = memory_wait(again.launches[0], ramp, hz, gone);
      CAPTURE(gone);
      CHECK(some.warm + some.clocks / hz >= last * 0.96);  // orders in which tiles come are drawn
      CHECK(some.cold == doctest::Approx(memory_wait(again.launches[0], ramp, hz, 1).cold));
      last = some.warm + some.clocks / hz;
    }
  }
  SUBCASE("a profile without a memory ramp gives no wait") {
    hardware.measured->hbm.ramp.reset();
    const Prediction without = predicted(plan, hardware, point);
    const Staged unknown = staged(plan, hardware, point);
    const SmStep same = sm_clocks(unknown.launches[0]);
    CHECK(launch_time(unknown.launches[0], same, placed_blocks(unknown.launches[0], same)).ramp_seconds == 0);
    CHECK(memory_wait(unknown.launches[0], 0, hz, 1).cold == 0);
    CHECK(without.time.total <= out.time.total);
  }
  SUBCASE("a launch without tensor work, the merge, has no wait") {
    CHECK(memory_wait(stages.launches[1], ramp, hz, 1).cold == 0);
  }
}

}  // namespace memory_wait_test
