#include <doctest/doctest.h>

#include "predict/sm/textbook.h"
#include "predict/time/time_parts.h"

using namespace tilescope;

TEST_CASE("blocks that stream tiles from memory take longer than bytes alone and clocks alone") {
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
  const BoundIsland bound = bind_island(plan, hardware, point, 0);
  const double hz = highest_clock(hardware, bound.how);
  const Uneven uneven = uneven_time(bound, island, hz, false);
  CHECK(uneven.cold > island.floor);
  CHECK(uneven.cold < 2 * (island.floor + island.sm_clocks / hz));
  CHECK(uneven.again + uneven.clocks / hz == doctest::Approx(uneven.cold));
  CHECK(uneven.clocks >= 0);
  CHECK(uneven.busy <= uneven.cold);
  CHECK(island.seconds >= uneven.cold);
  // At a lower clock what the units take grows, what memory takes does not.
  IslandTime time{.clocks = island.sm_clocks, .floor = island.floor, .most_hz = hz, .uneven = uneven};
  CHECK(time.seconds(hz / 2) >= uneven.again + 2 * uneven.clocks / hz);
  CHECK(time.seconds(hz / 2) <= 2 * time.seconds(hz));
  SUBCASE("not where nothing says how memory starts") {
    hardware.measured->hbm.ramp.reset();
    const Prediction without = predicted(plan, hardware, point);
    CHECK(uneven_time(bind_island(plan, hardware, point, 0), without.islands[0], hz, false).cold == 0);
    CHECK(without.time.total <= out.time.total);
  }
  SUBCASE("nor where a merge only waits") {
    CHECK(uneven_time(bind_island(plan, hardware, point, 1), out.islands[1], hz, false).cold == 0);
  }
}
