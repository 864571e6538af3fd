#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/test_seed.h"
#include "predict/l2/memory_seconds.h"
#include "predict/sm/block_waits.h"
#include "predict/sm/queueing_network.h"
#include "predict/textbook.h"

using namespace tilescope;

TEST_CASE("bulk copies overlap with products; a product waits for its operands; other work is slower during products") {
  Plan plan = load_plan_for_kernel("fused_wgmma", data);
  HardwareProfile hardware = textbook();
  Point point = attention(plan, 16, 4096, 64, 64, 8);
  point.workload.d_qk = point.workload.d_v = 256;
  const SmStep step = step_of(plan, hardware, point);
  CHECK(step.demand.bulk == doctest::Approx(2.0 * 64 * 256 * 2 / 128).epsilon(0.03));  // K and V, and sometimes Q
  REQUIRE(step.demand.smem > step.demand.products);
  CHECK(step.demand.products == doctest::Approx(step.demand.tensor));  // Q K^T takes the full rate of shared memory
  // With tiles of 32 keys, the 64 rows of Q are read again for few columns. Q K^T waits for them.
  point = attention(plan, 16, 4096, 128, 32, 12);
  point.workload.d_qk = point.workload.d_v = 256;
  const SmStep narrow = step_of(plan, hardware, point);
  const double values = narrow.demand.tensor / 2, scores = 2.0 * (64 + 32) * 256 * 2 / 128;
  REQUIRE(scores > values);
  CHECK(narrow.demand.products == doctest::Approx(scores + values));
  // Work during the group's own product is slower, so less of it is done when the product ends.
  point = attention(plan, 16, 4096, 64, 128, 8);
  const double before = step_of(plan, hardware, point).clocks.step[0];
  hardware.measured->beside.wgmma_ex2 = {0.5, "M"}, hardware.measured->beside.wgmma_max = {1, "M"};
  const double slower = step_of(plan, hardware, point).clocks.step[0];
  CHECK(slower > before + 50);
  hardware.measured->sync.mbarrier_passed = {30, "M"};  // the wait for K
  CHECK(step_of(plan, hardware, point).clocks.step[0] == doctest::Approx(slower + 30));
}

TEST_CASE("independent warpgroups use the tensor cores more than one warpgroup does") {
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  const HardwareProfile hardware = textbook();
  const SmStep one = step_of(plan, hardware, attention(plan, 16, 4096, 64, 128, 8)),
               two = step_of(plan, hardware, attention(plan, 16, 4096, 128, 128, 12));
  CHECK(one.demand.tensor == doctest::Approx(4.0 * 64 * 128 * 128 / 4096));
  CHECK(two.demand.tensor == doctest::Approx(2 * one.demand.tensor));
  CHECK(two.clocks.step[0] >= two.demand.tensor);
  CHECK(two.clocks.step[0] < 2 * one.clocks.step[0]);
}

TEST_CASE(
    "independent warpgroups wait for each part of a step's products, and start the first step of a block together") {
  Plan plan = load_plan_for_kernel("backward_split", data);
  const HardwareProfile hardware = textbook();
  const Point point = attention(plan, 16, 4096, 128, 128, 12);
  const auto step_with = [&](Overlap overlap, std::int64_t parts) {
    plan.kernel.islands[1].overlap = overlap;
    for (ProductImplementation& product : plan.kernel.islands[1].products) product.parts = parts;
    const Staged stages = staged(plan, hardware, point);
    const BoundIsland& bound = stages.bound[1];
    return sm_step(stages.launches[1], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
  };
  const SmStep free = step_with(Overlap::free, 2), whole = step_with(Overlap::free, 1);
  CHECK(free.latency - whole.latency == doctest::Approx(4 * (137 - 64)));  // four products, each with one more wait
  const StepDemand& d = free.demand;
  const double phases = std::max({d.products, d.smem - d.bulk, d.threads}) + std::max(d.xu, d.fma_scores) + d.alu +
                        d.fma_outputs + free.latency;
  REQUIRE(phases > free.clocks.step[0] + 100);
  const double more = free.clocks.fixed - step_with(Overlap::lockstep, 2).clocks.fixed;
  CHECK(more == doctest::Approx(phases - free.clocks.step[0]));
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

TEST_CASE(
    "additions to memory are a separate station: they lengthen the step of one group, and overlap with the work of a "
    "second group") {
  Plan plan = load_plan_for_kernel("backward", data);
  HardwareProfile hardware = textbook();
  Point point = attention(plan, 16, 4096, 64, 128, 12);
  const auto step_with = [&](Overlap overlap, double rate) {
    plan.kernel.islands[1].overlap = overlap;
    hardware.measured->atomics.red_fp32.reset();
    if (rate > 0) hardware.measured->atomics.red_fp32 = {rate * 132 * hardware.boost_hz->value, "M"};
    const Staged stages = staged(plan, hardware, point);
    const BoundIsland& bound = stages.bound[1];
    return sm_step(stages.launches[1], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
  };
  const SmStep none = step_with(Overlap::lockstep, 0), all = step_with(Overlap::lockstep, 16);
  CHECK(none.demand.leaving == 0);
  CHECK(all.demand.leaving ==
        doctest::Approx(64.0 * 128 * 4 / 16));  // a tile of dQ in fp32; the first kernel writes its zeros
  CHECK(all.clocks.step[0] - none.clocks.step[0] == doctest::Approx(all.demand.leaving));
  const double more = step_with(Overlap::free, 16).clocks.step[0] - step_with(Overlap::free, 0).clocks.step[0];
  CHECK(more > 0.3 * all.demand.leaving);
  CHECK(more < 0.9 * all.demand.leaving);
  // At a tenth of the rate, a step takes at least the time of its additions.
  CHECK(step_with(Overlap::free, 1.6).clocks.step[0] >= 10 * all.demand.leaving);
}

TEST_CASE(
    "tensor cores execute the product of one group at a time; an arriving group waits for half a product on average") {
  const Network any{{100, 60, 0, 0}, 40};
  Network one_by_one = any, in_turn = any;
  one_by_one.products_in_turn = true, in_turn.in_turn = true;
  CHECK(one_by_one.round(1) == any.round(1));
  CHECK(one_by_one.round(2) == doctest::Approx(any.round(2) - 100 * (100 / 200.0) / 2));
  CHECK(in_turn.round(2) < one_by_one.round(2));
}

TEST_CASE("arithmetic of one group delays the products of another group, but not its own products") {
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  HardwareProfile hardware = textbook();
  const auto clocks = [&](std::int64_t tile_q, std::int64_t warps, double held) {
    hardware.measured->beside.wgmma_held = {held, "M"};
    return step_of(plan, hardware, attention(plan, 16, 4096, tile_q, 128, warps)).clocks.step[0];
  };
  CHECK(clocks(64, 8, 0.6) == doctest::Approx(clocks(64, 8, 0)));
  CHECK(clocks(128, 12, 0.6) > clocks(128, 12, 0) + 10);
}

TEST_CASE("arithmetic on the scores of all products counts beside special functions, that on results apart") {
  const HardwareProfile hardware = textbook();
  const Plan plan = load_plan_for_kernel("backward", data);
  const Point point = attention(plan, 16, 4096, 64, 128, 12);
  const Staged stages = staged(plan, hardware, point);
  const BoundIsland& bound = stages.bound[1];
  const SmStep step =
      sm_step(stages.launches[1], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
  const double of_scores = 64.0 * 128 / 128;  // one operation a score, at 128 a clock
  CHECK(step.demand.fma_scores == doctest::Approx(3 * of_scores).epsilon(0.01));  // S scale - L; P (dP - D)
  CHECK(step.demand.fma_outputs < 0.1 * of_scores);                               // dK at the end
  const Plan forward = load_plan_for_kernel("fused_wgmma", data);
  const SmStep softmax = step_of(forward, hardware, attention(forward, 16, 4096, 128, 128, 12));
  CHECK(softmax.demand.fma_scores > 2 * 128.0 * 128 / 128);
}

TEST_CASE("warpgroups that take turns at the scores work on them one after the other; turns at both cost most") {
  Plan plan = load_plan_for_kernel("fused_wgmma", data);
  HardwareProfile hardware = textbook();
  std::mt19937 random(test_seed());
  const auto between = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  int slower = 0;
  for (int round = 0; round < 60; ++round) {
    hardware.measured->pipes.ex2 = {between(4, 32), "M"}, hardware.measured->pipes.max = {between(20, 128), "M"};
    const std::int64_t keys = 64 * (1 + static_cast<std::int64_t>(random() % 3));
    const auto step_with = [&](Overlap overlap, std::int64_t rows, std::int64_t warps) {
      plan.kernel.islands[0].overlap = overlap;
      return step_of(plan, hardware, attention(plan, 16, 4096, rows, keys, warps));
    };
    const auto clocks = [&](Overlap overlap) { return step_with(overlap, 128, 12).clocks.step[0]; };
    const SmStep scores = step_with(Overlap::ping_pong_scores, 128, 12);
    const StepDemand& d = scores.demand;
    const double products = clocks(Overlap::ping_pong), both = clocks(Overlap::ping_pong_both);
    CAPTURE(keys);
    CHECK(scores.clocks.step[0] >= std::max(d.xu, d.fma_scores) + d.alu - 1e-6);  // of all warpgroups
    CHECK(both >= scores.clocks.step[0] - 1e-6);
    CHECK(both >= products - 1e-6);
    CHECK(products >= std::max({d.products, d.xu, d.alu}) - 1e-6);  // pipes of several warpgroups run side by side
    slower += scores.clocks.step[0] > products + 1;
    // One warpgroup has every turn.
    const double alone = step_with(Overlap::ping_pong, 64, 8).clocks.step[0];
    for (const Overlap overlap : {Overlap::ping_pong_scores, Overlap::ping_pong_both})
      CHECK(step_with(overlap, 64, 8).clocks.step[0] >= alone - 1e-6);
  }
  CHECK(slower > 10);
}
