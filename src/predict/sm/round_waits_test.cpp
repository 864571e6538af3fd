// Tests products executed by threads (reference_fp32): the demand of their rounds on an SM, and their waits.
#include <doctest/doctest.h>

#include <set>

#include "predict/point/order/block_order.h"
#include "predict/sm/launch_at_sm.h"
#include "predict/sm/rates.h"
#include "predict/textbook.h"

namespace round_waits_test {

using namespace tilescope;

namespace {

constexpr int qk = 0, pv = 2;  // islands

HardwareProfile with_latencies() {
  HardwareProfile hardware = textbook();
  auto& m = *hardware.measured;
  m.l2.latency_near = {300, "M"}, m.l2.latency_far = {500, "M"}, m.smem.latency = {20, "M"};
  m.l2.capacity_private = {50e6, "M"}, m.hbm.latency = {1000 / hardware.boost_hz->value, "M"};
  return hardware;
}

}  // namespace

TEST_CASE("products executed by threads use wavefronts and issue slots, and wait for banks and in every round") {
  const Plan plan = load_plan_for_kernel("reference_fp32", data);
  HardwareProfile hardware = with_latencies();
  hardware.measured->smem.latency = {};
  const SmStep step = step_of(plan, hardware, attention(plan, 16, 4096, 64, 64, 8));
  CHECK(step.demand.smem == doctest::Approx(64 * 128));  // 0.375 + 0.625 wavefronts an element of Q and of K
  // There are four rounds of 32 terms. Each scheduler has two of the eight warps. code.json: 88 clocks a round.
  const double banks = 4.0 * 2 * 88;
  // code.json: each of the eight warps executes 930 instructions in a round and 219 outside them.
  CHECK(step.demand.issue == doctest::Approx(2 * (4 * 930 + 219) + banks));
  // The two warps of a scheduler overlap. The expected time is a queueing network of two customers, worked out by hand.
  const double smem = step.demand.smem / 2, issue = step.demand.issue / 2;
  const Staged stages = staged(plan, hardware, attention(plan, 16, 4096, 64, 64, 8));
  const RoundWaits& asked = stages.launches[qk].round_waits[static_cast<std::size_t>(Inputs::in_memory)];
  CHECK(asked.near + asked.far + asked.memory == doctest::Approx(4));
  const double loads = 4 * (asked.near * 300 + asked.far * 500 + asked.memory * (1000 + 100));
  const double one = smem + issue + loads, again = loads + smem * (1 + smem / one) + issue * (1 + issue / one);
  CHECK(step.clocks.step[0] == doctest::Approx(again).epsilon(1e-6));
}

TEST_CASE("every block that reads a tile in flight waits for memory; the expectation is counted block by block") {
  const Plan plan = load_plan_for_kernel("reference_fp32", data);
  const HardwareProfile hardware = with_latencies();
  for (const std::int64_t length : {256, 1024, 4096}) {
    CAPTURE(length);
    const Point point = attention(plan, 8, length, 64, 64, 8);
    const Staged stages = staged(plan, hardware, point);
    const BoundIsland& bound = stages.bound[qk];
    const Diagram& diagram = plan.schedule.diagram;
    // Tiles that the resident blocks request, and how many blocks request each tile.
    const BlockOrder order(bound);
    const std::int64_t together =
        std::min<std::int64_t>(order.size(), 132 * stages.counts[qk].occupancy.blocks_per_unit);
    double expected = 0;
    for (const char* name : {"Q", "K"}) {
      const ArrayId id = *diagram.find_array(name);
      std::set<std::vector<std::int64_t>> tiles;
      for (std::int64_t number = 0; number < together; ++number) {
        const BlockPlace place = order.at(number);
        std::vector<std::int64_t> tile;
        for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
          if (bound.nest.carries(diagram.array(id).axes, bound.nest.loops[i].axis)) tile.push_back(place[i]);
        tiles.insert(tile);
      }
      const double readers = static_cast<double>(together) / static_cast<double>(tiles.size());
      const double all = static_cast<double>(order.size()) * 64 * 128 * 2;  // bytes of this array that blocks load
      expected += 2 * std::min(1.0, read_from(Boundary::hbm, stages.counts[qk], id) * readers / all);
    }
    const auto by_inputs = round_waits(bound, stages.counts[qk]);
    const RoundWaits& waits = by_inputs[static_cast<std::size_t>(Inputs::in_memory)];
    CHECK(waits.memory ==
          doctest::Approx(expected).epsilon(0.08));  // a wave that ends within a head counts to the head's end
    CHECK(waits.near == doctest::Approx(4 - waits.memory));
    CHECK(waits.far == 0);
    if (length == 256) CHECK(waits.memory == doctest::Approx(4));  // all blocks begin at once with nothing loaded
    CHECK(by_inputs[static_cast<std::size_t>(Inputs::in_l2)].memory == 0);
  }
}

TEST_CASE(
    "where all stays in the L2, the output of the previous kernel is far and V is near; else both come from memory") {
  Plan plan = load_plan_for_kernel("reference_fp32", data);
  HardwareProfile hardware = with_latencies();
  const Point point = attention(plan, 4, 1024, 64, 64, 8);
  const Staged stages = staged(plan, hardware, point);
  const auto& waits = stages.launches[pv].round_waits;
  const auto of = [&](Inputs inputs) { return waits[static_cast<std::size_t>(inputs)]; };
  CHECK(of(Inputs::in_memory).memory == doctest::Approx(3));  // half of them for P, half for V
  CHECK(of(Inputs::in_l2).far == doctest::Approx(1.5));
  CHECK(of(Inputs::in_l2).near == doctest::Approx(1.5));
  // Each scheduler has one warp, so waits are not hidden and add up. 64 keys are two rounds.
  const SmRates& rates = stages.launches[pv].rates;
  Point narrow = point;
  narrow.warps = 4;
  const auto latency = [&](Inputs inputs) {
    const BoundIsland four_warps = bind_island(plan, hardware, narrow, pv);
    LaunchAtSm launch = launch_at_sm(four_warps, stages.counts[pv]);
    launch.round_waits = stages.launches[pv].round_waits;
    return sm_step(launch, 4.0 * 16 * 16, inputs).waits;
  };
  CHECK(latency(Inputs::in_memory) - latency(Inputs::in_l2) ==
        doctest::Approx(2 * 1.5 * (rates.far_memory() - 500) + 2 * 1.5 * (rates.far_memory() - 300)));
  const double before = latency(Inputs::in_memory);
  for (LaunchCode& each : plan.kernel.launch_codes)
    each.code.passes[static_cast<std::size_t>(CodePass::step)][static_cast<std::size_t>(CodeCount::shared_waits)] += 10;
  CHECK(latency(Inputs::in_memory) - before == doctest::Approx(2 * 10 * 20));
  // No copy is in flight before the first round. The latency of the copy engine does not change the fixed time of a
  // block.
  const auto fixed = [&] { return sm_step(staged(plan, hardware, point).launches[pv], 4.0 * 16 * 16).clocks.fixed; };
  const double at_once = fixed();
  hardware.measured->tma.latency_hbm = {9000 / hardware.boost_hz->value, "M"};
  CHECK(fixed() == doctest::Approx(at_once));
}

TEST_CASE("multiply-adds for any head_dim and length equal those of the kernels' loops, counted loop by loop") {
  const HardwareProfile hardware = with_latencies();
  const auto round_up = [](std::int64_t size, std::int64_t to) { return (size + to - 1) / to * to; };
  const auto columns = [](std::int64_t d) { return d <= 64 ? 64 : d <= 128 ? 128 : 256; };  // built sizes
  const auto ffma = [&](const char* kernel, const Workload& workload) {
    const Plan plan = load_plan_for_kernel(kernel, data);
    Point point = attention(plan, 3, 256, 64, 64, 8);
    point.workload = workload;
    const Prediction out = predicted(plan, hardware, point);
    std::vector<std::int64_t> counts;
    for (const IslandPrediction& island : out.islands)
      counts.push_back(island.work.pipes[static_cast<std::size_t>(Pipe::ffma)]);
    return counts;
  };
  for (const std::int64_t d : {40, 64, 80, 192, 256})
    for (const auto& [q, x] : {std::pair<std::int64_t, std::int64_t>{256, 256}, {300, 741}, {97, 544}}) {
      CAPTURE(d);
      CAPTURE(q);
      CAPTURE(x);
      const Workload workload{.batch = 2, .heads_q = 3, .heads_kv = 3, .q_len = q, .kv_len = x, .d_qk = d, .d_v = d};
      std::int64_t scores = 0, values = 0;
      for (std::int64_t row = 0; row < q; row += 64) {
        for (std::int64_t key = 0; key < x; key += 64)
          for (std::int64_t term = 0; term < d; term += 32) scores += 64 * 64 * 32;
        for (std::int64_t key = 0; key < x; key += 32) values += 64 * 32 * columns(d);
      }
      const std::vector<std::int64_t> forward = ffma("reference_fp32", workload);
      CHECK(forward[qk] == 6 * scores);
      CHECK(forward[pv] == 6 * values);
      // In the backward pass, dV and dK of 64 keys iterate over the queries. dQ iterates over the keys.
      const std::vector<std::int64_t> backward = ffma("reference_backward", workload);
      const std::int64_t pairs = round_up(q, 64) * round_up(x, 64);
      CHECK(backward[1] == 6 * (scores + pairs));  // one more per score
      CHECK(backward[2] == 6 * scores);
      CHECK(backward[3] == 6 * round_up(x, 64) * round_up(q, 32) * columns(d));
      CHECK(backward[4] == backward[3]);
      CHECK(backward[5] == 6 * values);
    }
}

}  // namespace round_waits_test
