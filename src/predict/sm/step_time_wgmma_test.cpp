#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/test_seed.h"
#include "predict/l2/memory_seconds.h"
#include "predict/textbook.h"

namespace step_time_wgmma_test {

using namespace tilescope;

TEST_CASE("independent warpgroups use the tensor cores more than one warpgroup does") {
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  const HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  const SmStep one = step_of(plan, hardware, attention(plan, 16, 4096, 64, 128, 8)),
               two = step_of(plan, hardware, attention(plan, 16, 4096, 128, 128, 12));
  CHECK(one.demand.tensor == doctest::Approx(4.0 * 64 * 128 * 128 / 4096));
  CHECK(two.demand.tensor == doctest::Approx(2 * one.demand.tensor));
  CHECK(two.clocks.step[0] >= two.demand.tensor);
  CHECK(two.clocks.step[0] < 2 * one.clocks.step[0]);
}

TEST_CASE("a tile that SMs of a group request together is read from the L2 once, up to the rate of shared reads") {
  CHECK(asked_together(1, 8) == 1);
  CHECK(asked_together(132, 1) == doctest::Approx(132));
  CHECK(asked_together(2, 2) == doctest::Approx(2 / 1.5));  // one group or both groups, equally likely
  HardwareProfile hardware = textbook();
  hardware.l2_groups = Sourced<std::vector<UnitGroup>>{std::vector<UnitGroup>(8, UnitGroup{16, 0}), "M"};
  hardware.measured->l2.read_private = {4000e9, "M"}, hardware.measured->l2.write = {4000e9, "M"};
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  const auto l2_seconds = [&](std::int64_t heads, std::int64_t length) {
    const Point point = attention(plan, heads, length, 64, 64, 8);
    const Prediction out = predicted(plan, hardware, point);
    return out.islands[0].resource_seconds[static_cast<std::size_t>(Resource::l2)] /
           static_cast<double>(out.islands[0].traffic[Boundary::l2][0]);
  };
  CHECK(l2_seconds(8, 16384) == doctest::Approx(1 / 4000e9));  // without a rate of shared reads
  hardware.measured->l2.read_shared = {10000e9, "M"};
  // If all SMs read one head's keys, the rate of shared reads applies. With one tile of queries a head, each SM has its
  // own keys.
  CHECK(l2_seconds(8, 16384) == doctest::Approx(1 / 10000e9));
  CHECK(l2_seconds(264, 64) == doctest::Approx(1 / 4000e9));
  const double between = l2_seconds(66, 256);  // four tiles of queries a head
  CHECK(between < 1 / 4000e9 / 1.1);
  CHECK(between > 1 / 10000e9 * 1.1);
  const Point point = attention(plan, 66, 256, 64, 64, 8);
  const BoundIsland bound = bind_island(plan, hardware, point, 0);
  const auto keys = *plan.schedule.diagram.find_array("K");
  CHECK(tiles_at_work(bound, keys, 132) == 33);
}

TEST_CASE("additions to memory leave an SM at their rate, and a step takes no less than they do") {
  const Plan plan = load_plan_for_kernel("backward", data);
  HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  const Point point = attention(plan, 16, 4096, 64, 128, 12);
  const auto step_with = [&](double rate) {
    hardware.measured->atomics.red_fp32 = {rate * static_cast<double>(hardware.units.value) * hardware.boost_hz->value,
                                           "M"};
    const Staged stages = staged(plan, hardware, point);
    const BoundIsland& bound = stages.bound[1];
    return sm_step(stages.launches[1], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
  };
  const SmStep fast = step_with(64), slow = step_with(1.6);
  // A tile of dQ in fp32; the first kernel writes its zeros.
  CHECK(fast.demand.leaving == doctest::Approx(64.0 * 128 * 4 / 64));
  CHECK(slow.demand.leaving == doctest::Approx(40 * fast.demand.leaving));
  CHECK(fast.clocks.step[0] < slow.demand.leaving);
  CHECK(slow.clocks.step[0] == doctest::Approx(slow.demand.leaving));
}

TEST_CASE("arithmetic on the scores of all products counts") {
  const HardwareProfile hardware = textbook();
  const Plan plan = load_plan_for_kernel("backward", data);
  const Point point = attention(plan, 16, 4096, 64, 128, 12);
  const Staged stages = staged(plan, hardware, point);
  const BoundIsland& bound = stages.bound[1];
  const SmStep step =
      sm_step(stages.launches[1], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
  const double of_scores = 64.0 * 128 / 128;   // one operation a score, at 128 a clock
  CHECK(step.demand.fma >= 2.97 * of_scores);  // S scale - L; P (dP - D)
  CHECK(step.demand.fma <= 3.13 * of_scores);  // and dK at the end
}

}  // namespace step_time_wgmma_test
