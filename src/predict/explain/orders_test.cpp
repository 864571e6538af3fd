#include "predict/explain/orders.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace tilescope::orders_test {

TEST_CASE(
    "processing the heads one after another reads the fewest bytes when the keys of all heads do not fit the L2") {
  const HardwareProfile hardware = load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml");
  const Plan plan = load_plan_for_kernel("fused_mma", TILESCOPE_SOURCE_DIR);
  Point point = default_point(plan);
  point.workload = {1, 32, 32, 8192, 8192, 64, 64};  // 2 MiB of K and V a head
  for (const KernelVariant& variant : plan.kernel.variants)
    if (variant.head_dim == 64) take_variant(point, plan.schedule, variant);
  const std::vector<OrderedTraffic> orders = traffic_by_order(plan, hardware, point);
  CHECK(std::count_if(orders.begin(), orders.end(), [](const OrderedTraffic& order) { return order.own; }) == 1);
  const std::int64_t compulsory = std::int64_t{3} * 32 * 8192 * 64 * 2;
  CHECK(orders.front().read_bytes < compulsory + compulsory / 50);
  CHECK(orders.front().own);  // fused_mma goes head by head; among equal orders its own is first
  CHECK(orders.back().order == "all heads in turns, q slowest");
  CHECK(orders.back().read_bytes > 2 * compulsory);
  point.workload = {32, 32, 32, 16384, 16384, 64, 64};
  CHECK_THROWS_WITH_AS(traffic_by_order(plan, hardware, point), doctest::Contains("steps in up to 12 orders, at most"),
                       InputError);
}

}  // namespace tilescope::orders_test
