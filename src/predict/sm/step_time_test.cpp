#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <utility>

#include "predict/energy.h"
#include "predict/l2/around_products.h"
#include "predict/sm/queueing_network.h"
#include "predict/textbook.h"
#include "predict/time/clock.h"

namespace step_time_test {

using namespace tilescope;

namespace {

EnergyByItem joules(EnergyItem item, double all) {
  EnergyByItem energy;
  energy[static_cast<std::size_t>(item)].joules = all;
  return energy;
}

double tensor_joules(const HardwareProfile& hardware, const Plan& plan, const LaunchCounts& counts) {
  EnergyByItem energy;
  add_energy(hardware, plan.kernel.islands[0], counts, 0, 1, energy);
  return energy[static_cast<std::size_t>(EnergyItem::tensor)].joules;
}

}  // namespace

TEST_CASE("where the profile lacks rates of a simulation, a step of each block takes what the slowest unit takes") {
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const SmStep step = step_of(plan, textbook(), attention(plan, 16, 4096, 128, 64, 8));
  CHECK(step.demand.tensor == doctest::Approx(4.0 * 128 * 64 * 128 / 2730.67));
  CHECK(step.demand.xu == doctest::Approx(128.0 * 64 / 16).epsilon(0.1));
  // What the block does once is spread over its 64 steps; the last one copies no later tile.
  const InstanceCode& code = plan.kernel.variants[14].code;
  REQUIRE(plan.kernel.variants[14].tile_kv == 64);
  const auto alu = [&](CodePass pass) {
    return static_cast<double>(code.of(pass, CodeCount::alu) + code.of(pass, CodeCount::conversion));
  };
  const double outside = alu(CodePass::once) + alu(CodePass::live);
  CHECK(step.demand.alu ==
        doctest::Approx((alu(CodePass::step) + (63 * alu(CodePass::ahead) + outside) / 64) * 256 / 64));
  CHECK(step.demand.smem > step.demand.tensor);  // eight warps of 16 rows read K and V once each
  StepDemand demand = step.demand;
  demand.memory = 0;  // that of all SMs is a bound of the launch
  double slowest = 0;
  for (const double* each : demand.all()) slowest = std::max(slowest, *each);
  CHECK(step.clocks.step[0] == doctest::Approx(slowest));
}

TEST_CASE(
    "tiles outside the stream are loaded while all units wait, except in blocks that prefetch them; results leave") {
  HardwareProfile hardware = textbook();
  hardware.measured->hbm.read = {4000e9, "M"}, hardware.measured->hbm.write = {2000e9, "M"};
  hardware.measured->local.store = {64, "M"};
  const double tile = 128 * 128 * 2, statistics = 128 * 4;  // `tile`: Q or O; `statistics`: L
  const Plan threads = load_plan_for_kernel("fused_mma", data);
  const Point point = attention(threads, 16, 4096, 128, 64, 8);
  const double load = load_around_products(bind_island(threads, hardware, point, 0));
  CHECK(load == doctest::Approx(tile * 132 / 4000e9));
  // Doubling the time to load or to store adds that time to a block, and nothing to a step.
  const auto fixed = [&](const Plan& plan, const Point& at, double read, double store) {
    hardware.measured->hbm.read->value = read, hardware.measured->local.store->value = store;
    return step_of(plan, hardware, at).clocks.fixed;
  };
  const double hz = 1830e6;
  CHECK(fixed(threads, point, 2000e9, 64) - fixed(threads, point, 4000e9, 64) == doctest::Approx(load * hz));
  CHECK(fixed(threads, point, 4000e9, 32) - fixed(threads, point, 4000e9, 64) ==
        doctest::Approx((tile + statistics) / 64));
  const Plan bulk = load_plan_for_kernel("cudnn_forward", data);
  const Point tiles = attention(bulk, 16, 4096, 128, 128, 12);
  CHECK(fixed(bulk, tiles, 4000e9, 32) == doctest::Approx(fixed(bulk, tiles, 4000e9, 64)));  // under the next tile
  // The first tiles belong to the start of the launch. Each block requests later tiles at its own time.
  CHECK(fixed(bulk, tiles, 2000e9, 64) == doctest::Approx(fixed(bulk, tiles, 4000e9, 64)));
}

TEST_CASE(
    "each of the blocks that share an SM takes longer; together they take less time, but at least that of the busiest "
    "unit") {
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const SmStep step = step_of(plan, find_profile("h200_sxm", data / "hardware"), attention(plan, 16, 4096, 64, 64, 4));
  CHECK(step.clocks.step[1] > step.clocks.step[0]);
  CHECK(step.clocks.step[1] < 2 * step.clocks.step[0]);
  CHECK(step.clocks.step[1] >= 2 * std::max(step.demand.tensor, step.demand.smem));
}

TEST_CASE("scores are compared with the mask only in tiles that an edge of the mask crosses") {
  Plan plan = load_plan_for_kernel("block_sparse", data);  // with typed rates instead of its machine code
  for (KernelVariant& variant : plan.kernel.variants) variant.code = {};
  WorkRates& typed = plan.kernel.islands.front().work[static_cast<std::size_t>(Pipe::alu)];
  typed.per_score = 1, typed.per_masked_score = 4, typed.per_thread_step = 108;
  const HardwareProfile hardware = textbook();
  Point point = attention(plan, 4, 1024, 128, 64, 4);
  const auto comparisons = [&] {
    const Prediction out = predicted(plan, hardware, point);
    const BoundIsland bound = bind_island(plan, hardware, point, 0);
    const double steps = static_cast<double>(visited_points(bound.nest, bound.whole, {}, true));
    const auto rate = bound.how.work[static_cast<std::size_t>(Pipe::alu)];
    const auto all = static_cast<double>(out.work.pipes[static_cast<std::size_t>(Pipe::alu)]);
    const double scores = 128 * static_cast<double>(point.tiles[1]);
    const double others = rate.per_score * scores + rate.per_thread_step * static_cast<double>(32 * point.warps);
    return (all - steps * others) / rate.per_masked_score;
  };
  CHECK(std::abs(comparisons()) < 1);  // zero except for rounding
  point.mask.kind = MaskKind::causal;  // the diagonal crosses two tiles of 64 keys in each of 8 tiles of 128 queries
  CHECK(comparisons() == doctest::Approx(4 * 8 * 2 * 128 * 64));
  point.tiles[1] = 128, point.warps = 8;  // and one tile of 128
  CHECK(comparisons() == doctest::Approx(4 * 8 * 128 * 128));
  point.tiles[1] = 64, point.warps = 4, point.mask.kind = MaskKind::window,
  point.mask.count = 256;  // two more at the other edge
  CHECK(comparisons() == doctest::Approx(4 * 8 * 4 * 128 * 64));
}

TEST_CASE(
    "scores are compared with the number of keys in every step, where no mask is and the keys leave a tile unfilled") {
  Plan plan = load_plan_for_kernel("block_sparse", data);
  for (KernelVariant& variant : plan.kernel.variants) variant.code = {};
  WorkRates& typed = plan.kernel.islands.front().work[static_cast<std::size_t>(Pipe::alu)];
  typed = {}, typed.per_score = 1;
  const HardwareProfile hardware = textbook();
  const auto alu = [&](std::int64_t keys, MaskKind mask) {
    Point point = attention(plan, 4, keys, 128, 64, 4);
    point.mask.kind = mask;
    return predicted(plan, hardware, point).work.pipes[static_cast<std::size_t>(Pipe::alu)];
  };
  for (const std::int64_t keys : {1024, 1000})
    for (const MaskKind mask : {MaskKind::none, MaskKind::causal}) {
      CAPTURE(keys);
      typed.per_padded_score = 0;
      const std::int64_t once = alu(keys, mask);
      typed.per_padded_score = 2;
      CHECK(alu(keys, mask) == (keys == 1000 && mask == MaskKind::none ? 3 : 1) * once);
    }
}

TEST_CASE("SMs without a block are not busy") {
  HardwareProfile hardware = textbook();
  hardware.measured->hbm.read = {4e12, "M"}, hardware.measured->hbm.write = {4e12, "M"};
  const Plan plan = load_plan_for_kernel("backward_split", data);
  const Prediction out = predicted(plan, hardware, attention(plan, 2, 1024, 128, 128, 12));  // 16 blocks a launch
  for (const IslandPrediction& island : out.islands) {
    CHECK(island.sm_clocks > 0);
    CHECK(island.busy_clocks > 0);
    CHECK(island.busy_clocks <= 1.001 * island.seconds * 1.98e9 * 16 / 132);
  }
}

TEST_CASE("a higher rate never makes a step longer") {
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  const HardwareProfile hardware = textbook();
  const Point point = attention(plan, 16, 2048, 128, 128, 12);
  const Staged stages = staged(plan, hardware, point);
  const BoundIsland& bound = stages.bound[0];
  const double steps = static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)),
               now = sm_step(stages.launches[0], steps).clocks.step[0];
  for (std::size_t lever = 0; lever < lever_count; ++lever) {
    LaunchAtSm faster = stages.launches[0];
    faster.faster[lever] = 2;
    // The tolerance covers one effect: warps that wait less for a unit collide more often at the scheduler.
    CHECK(sm_step(faster, steps).clocks.step[0] <= now * 1.002);
  }
}

TEST_CASE(
    "a higher rate shortens simulated steps, or leaves them, within the chance of collisions; of some units it does") {
  const HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  constexpr double chance = 1.02;  // warps that wait less for a unit may collide more often at another one
  int shorter = 0;
  for (const char* kernel : {"fused_mma", "fused_wgmma", "fused_fp8", "flash1", "reference"}) {
    CAPTURE(kernel);
    const Plan plan = load_plan_for_kernel(kernel, data);
    const Staged stages = staged(plan, hardware, default_point(plan));
    const LaunchAtSm& launch = stages.launches[0];
    const std::size_t all = static_cast<std::size_t>(launch.resident()) - 1;
    const double now = sm_step(launch, 1000).clocks.step[all];
    for (std::size_t lever = 0; lever < lever_count; ++lever) {
      CAPTURE(lever);
      LaunchAtSm faster = launch;
      faster.faster[lever] = sm_faster_by;
      const double then = sm_step(faster, 1000).clocks.step[all];
      CHECK(then <= now * chance);
      CHECK(then >= now / sm_faster_by / chance);
      shorter += then < 0.995 * now;
      if (lever == static_cast<std::size_t>(Lever::hbm)) CHECK(then == now);
    }
  }
  CHECK(shorter > 5);
}

TEST_CASE("the clock decreases until the power is within the limit") {
  HardwareProfile hardware = textbook();
  const LaunchTime light{.clocks = 1e6, .busy_clocks = 1e6, .memory_seconds = 0, .highest_hz = 1.83e9};
  const ClockAndPower free = sustained_clock(hardware, {&light, 1}, joules(EnergyItem::others, 0.1), 0);
  CHECK(free.hz == 1.83e9);
  CHECK(free.watts == doctest::Approx(100 + 0.1 * 1.83e9 / 1e6));
  const ClockAndPower held = sustained_clock(hardware, {&light, 1}, joules(EnergyItem::others, 0.4), 0);
  CHECK(held.watts == doctest::Approx(700).epsilon(1e-6));
  CHECK(held.hz == doctest::Approx(600 / 0.4 * 1e6));
  hardware.measured->power.busy.reset();
  CHECK(sustained_clock(hardware, {&light, 1}, joules(EnergyItem::others, 0.4), 0).watts == 0);
}

TEST_CASE("a lower clock reduces the energy of an operation, but not the energy of a byte of memory") {
  HardwareProfile hardware = textbook();
  hardware.measured->clock.most = {2e9, "M"}, hardware.measured->clock.tensor_most = {1.8e9, "M"};
  hardware.measured->power.clock_exponent = {2, "M"};
  const LaunchTime island{.clocks = 1e6, .busy_clocks = 1e6, .memory_seconds = 0, .highest_hz = 1.8e9};
  const auto hz = [&](EnergyItem item, double all) {
    return sustained_clock(hardware, {&island, 1}, joules(item, all), 0).hz;
  };
  CHECK(hz(EnergyItem::hbm, 0.4) == doctest::Approx(1.5e9));  // 600 W = 0.4 J hz / 1e6
  // 600 W = 0.4 J (hz / f)^2 hz / 1e6
  CHECK(hz(EnergyItem::tensor, 0.4) == doctest::Approx(std::cbrt(600 / 0.4 * 1e6 * 1.8e9 * 1.8e9)));
  CHECK(hz(EnergyItem::others, 0.5) == doctest::Approx(std::cbrt(600 / 0.5 * 1e6 * 2e9 * 2e9)));
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  CHECK(highest_clock(hardware, plan.kernel.islands.front()) == 1.8e9);
}

TEST_CASE("mma.sync has its own highest clock, at which its energy was measured") {
  HardwareProfile hardware = textbook();
  auto& m = *hardware.measured;
  m.clock.most = {2e9, "M"}, m.clock.tensor_most = {1.8e9, "M"}, m.clock.mma_most = {1.7e9, "M"};
  m.power.clock_exponent = {2, "M"}, m.power.mma[Format::fp16] = {1e-12, "M"};
  const Plan plan = load_plan_for_kernel("fused_mma", data), wgmma = load_plan_for_kernel("fused_wgmma", data);
  CHECK(highest_clock(hardware, plan.kernel.islands.front()) == 1.7e9);
  CHECK(highest_clock(hardware, wgmma.kernel.islands.front()) == 1.8e9);
  const Staged stages = staged(plan, hardware, attention(plan, 16, 1024, 128, 64, 8));
  const double flop_of_run = static_cast<double>(stages.counts[0].work.tensor_flop);
  // Scaled from the clock of wgmma to the clock of mma.sync, the energy equals the measured one.
  CHECK(tensor_joules(hardware, plan, stages.counts[0]) * std::pow(1.7 / 1.8, 2) ==
        doctest::Approx(flop_of_run * 1e-12));
}

TEST_CASE("products with operands in registers have their own measured energy") {
  HardwareProfile hardware = textbook();
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const Staged stages = staged(plan, hardware, attention(plan, 16, 1024, 128, 64, 8));
  const double flop_of_run = static_cast<double>(stages.counts[0].work.tensor_flop);
  const auto tensor = [&] { return tensor_joules(hardware, plan, stages.counts[0]); };
  const double from_shared = tensor();
  hardware.measured->power.mma[Format::fp16] = {1e-12, "M"};
  CHECK(tensor() == doctest::Approx(flop_of_run * 1e-12));
  CHECK(from_shared < flop_of_run * 0.5e-12);  // the operands are counted separately
  // Elements of one byte have half the operand bytes a FLOP.
  const Plan bytes = load_plan_for_kernel("fused_fp8", data);
  const double flop = 1e12;
  LaunchCounts counts;
  counts.work.tensor_flop_in[static_cast<std::size_t>(Format::fp8_e4m3)] = static_cast<std::int64_t>(flop);
  hardware.measured->power.tensor[Format::fp8_e4m3] = {0.25e-12, "M"};
  CHECK(tensor_joules(hardware, bytes, counts) == doctest::Approx(flop * (0.25e-12 - 320.0 / (2 * 64 * 256) * 2e-12)));
}

TEST_CASE("without measured rates the time is that of the slowest resource and is marked as a lower bound") {
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  HardwareProfile hardware = textbook();
  const Point point = attention(plan, 16, 4096, 128, 64, 8);
  const Prediction modelled = predicted(plan, hardware, point);
  hardware.measured.reset();
  const Prediction bound = predicted(plan, hardware, point);
  CHECK(modelled.time.modelled);
  CHECK_FALSE(bound.time.modelled);
  CHECK(bound.time.total == doctest::Approx(*std::max_element(bound.time.seconds.begin(), bound.time.seconds.end())));
  CHECK(modelled.time.total > bound.time.total);
  CHECK(modelled.time.cold <= modelled.time.total * 1.0001);
}

TEST_CASE("placing blocks one by one finds the tail of a causal mask, and the order that shortens it") {
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const HardwareProfile hardware = textbook();
  Point point = attention(plan, 16, 4096, 128, 64, 8);
  point.mask.kind = MaskKind::causal;
  const Prediction mean = predicted(plan, hardware, point);
  point.l2 = L2Model::walk;
  const Prediction placed = predicted(plan, hardware, point);
  CHECK(placed.time.sm_cycles > mean.time.sm_cycles);
  CHECK(placed.time.busy_cycles == doctest::Approx(mean.time.busy_cycles).epsilon(0.1));
  CHECK(placed.time.gain[static_cast<std::size_t>(Lever::smem)] > 0.02);
  CHECK(mean.time.gain[static_cast<std::size_t>(Lever::smem)] == 0);
}

TEST_CASE(
    "a round of a queueing network takes the sum of demands for one customer, and the busiest station's demand for "
    "many") {
  const Network balanced{.demand = {10, 10}, .delay = 5};
  CHECK(balanced.round(1) == doctest::Approx(25));
  const Network queues{.demand = {10, 10}, .delay = 0};
  for (const std::int64_t n : {1, 2, 5, 9})
    CHECK(queues.round(n) == doctest::Approx(10.0 * static_cast<double>(n + 1)));  // closed form for equal stations
  const Network one{.demand = {100, 1}, .delay = 0};
  CHECK(one.round(50) == doctest::Approx(5000).epsilon(0.01));
}

TEST_CASE("a step of the code passes rows' statistics through shared memory; m16n8k8 has its own rate") {
  HardwareProfile hardware = textbook();
  Plan plan = load_plan_for_kernel("pytorch_efficient", data);
  Point point = attention(plan, 16, 2048, 64, 64, 4);
  point.workload.d_qk = point.workload.d_v = 64;
  const SmStep before = step_of(plan, hardware, point);
  std::mt19937 engine(20261126);
  for (int i = 0; i < 5; ++i) {
    Plan more = plan;
    const auto wavefronts = static_cast<std::int64_t>(engine() % 99);
    for (LaunchCode& each : more.kernel.launch_codes)
      each.code.passes[static_cast<std::size_t>(CodePass::step)][static_cast<std::size_t>(CodeCount::wavefronts)] +=
          wavefronts;
    const SmStep after = step_of(more, hardware, point);
    CHECK(after.demand.smem - before.demand.smem == doctest::Approx(static_cast<double>(4 * wavefronts)));
  }
  hardware.measured->tensor.mma_k8 = {4, "M"};  // clocks of 2,048 FLOP on each of four schedulers
  CHECK(step_of(plan, hardware, point).demand.tensor == doctest::Approx(2 * 2.0 * 64 * 64 * 64 / 2048));
  plan.kernel.islands[0].mma.k = 16;
  CHECK(step_of(plan, hardware, point).demand.tensor == before.demand.tensor);
}

TEST_CASE("what threads store in every step leaves the SM at its store rate") {
  HardwareProfile hardware = textbook();
  const auto leaving = [&](const char* kernel, double rate) {
    hardware.measured->local.store.reset();
    if (rate > 0) hardware.measured->local.store = {rate, "M"};
    const Plan plan = load_plan_for_kernel(kernel, data);
    return step_of(plan, hardware, attention(plan, 132, 2048, 128, 128, 8)).demand.leaving;
  };
  // O of a step is 128 x 128 in fp16. flash1 stores O, m and l in every step; fused_mma keeps them.
  constexpr double bytes = 128 * 128 * 2 + 2 * 128 * 4;
  CHECK(leaving("flash1", 0) == 0);
  CHECK(leaving("flash1", 64) == doctest::Approx(bytes / 64));
  CHECK(leaving("flash1", 32) == doctest::Approx(bytes / 32));
  CHECK(leaving("fused_mma", 32) == 0);
}

}  // namespace step_time_test
