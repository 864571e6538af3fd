#include "predict/sm_time.h"

#include <doctest/doctest.h>

#include <cmath>

#include "predict/block_waits.h"
#include "predict/sm_time_network.h"
#include "predict/sm_time_turns.h"
#include "predict/time_parts.h"

using namespace tilescope;

namespace {

const std::filesystem::path data = TILESCOPE_SOURCE_DIR;

template <class Map>
void set(Map& map, Format format, std::int64_t count, double value) {
  map[format][count] = {value, "M"};
}

// An H200 whose measured rates are the textbook's.
HardwareProfile textbook() {
  HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  MeasuredRates m;
  m.pipes.ex2 = {16, "M"}, m.pipes.ffma = {128, "M"}, m.pipes.max = {64, "M"}, m.pipes.cvt_f16x2 = {64, "M"},
  m.pipes.shuffle = {32, "M"};
  set(m.tensor.wgmma_smem, Format::fp16, 128, 64);
  m.tensor.wgmma_latency[128] = {137, "M"};
  m.power.busy = {100, "M"}, m.power.tensor[Format::fp16] = {0.5e-12, "M"};
  m.power.hbm = {60e-12, "M"}, m.power.l2 = {20e-12, "M"}, m.power.smem = {2e-12, "M"}, m.power.ffma = {5e-12, "M"},
  m.power.ex2 = {20e-12, "M"}, m.power.issue = {5e-12, "M"};
  hardware.measured = m;
  return hardware;
}

Point attention(const Plan& plan, std::int64_t heads, std::int64_t length, std::int64_t tile_q, std::int64_t tile_kv,
                std::int64_t warps) {
  Point point = default_point(plan);
  point.workload = {
      .batch = 1, .heads_q = heads, .heads_kv = heads, .q_len = length, .kv_len = length, .d_qk = 128, .d_v = 128};
  point.tiles[0] = tile_q, point.tiles[1] = tile_kv, point.warps = warps;
  return point;
}

Prediction predicted(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  Prediction out;
  predict(plan, hardware, point, out);
  return out;
}

SmStep step_of(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  const Prediction out = predicted(plan, hardware, point);
  const BoundIsland bound = bind_island(plan, hardware, point, 0);
  return sm_step(bound, out.islands[0], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
}

}  // namespace

TEST_CASE("a step of one block takes its phases one after the other, at the rates of the units") {
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const SmStep step = step_of(plan, textbook(), attention(plan, 16, 4096, 128, 64, 8));
  CHECK(step.demand.tensor == doctest::Approx(4.0 * 128 * 64 * 128 / 2730.67));
  CHECK(step.demand.xu == doctest::Approx(128.0 * 64 / 16).epsilon(0.1));
  const double copies = 2 * 0.19 * 64 * 128 / 64;  // their addresses
  CHECK(step.demand.alu == doctest::Approx(128.0 * 64 / 64 + 128.0 * 32 / 64 + copies).epsilon(0.02));
  CHECK(step.demand.copies == doctest::Approx(2.0 * 64 * 128 * 2 / 128).epsilon(0.05));  // K and V, and the end's O
  CHECK(step.demand.smem > step.demand.tensor);  // eight warps of 16 rows read K and V once each
  // Exponentials of 16 keys of 64 come before P V of these: the first part's are not covered, but by the other warp.
  const double exponentials = step.demand.xu * 16 / 64 / 2;
  const double phases =
      step.demand.smem + exponentials + step.demand.alu + step.demand.threads + step.demand.fma_outputs;
  CHECK(step.clocks.step[0] == doctest::Approx(phases).epsilon(0.01));
}

TEST_CASE("exponentials run under the product that takes them in parts; copies of the same warps do not") {
  Plan plan = load_plan_for_kernel("fused_mma", data);
  const HardwareProfile hardware = textbook();
  const Point point = attention(plan, 16, 4096, 128, 64, 8);
  const SmStep parts = step_of(plan, hardware, point);
  plan.kernel.islands[0].special_parts = 0;
  const SmStep whole = step_of(plan, hardware, point);
  CHECK(whole.clocks.step[0] - parts.clocks.step[0] == doctest::Approx(parts.demand.xu * (1 - 16.0 / 64 / 2)));
  // A step of these tiles is bound by its products: copies add to it, though shared memory has time for them.
  const Plan wide = load_plan_for_kernel("block_sparse", data);
  const SmStep step = step_of(wide, hardware, attention(wide, 16, 4096, 128, 64, 4));
  REQUIRE(step.demand.tensor > step.demand.smem - step.demand.copies);
  CHECK(step.clocks.step[0] > step.demand.tensor + step.demand.copies + step.demand.alu + step.demand.threads);
}

TEST_CASE("bulk copies run beside products; operands hold up the product that takes them; under products all is slower") {
  Plan plan = load_plan_for_kernel("fused_wgmma", data);
  HardwareProfile hardware = textbook();
  Point point = attention(plan, 16, 4096, 64, 64, 8);
  point.workload.d_qk = point.workload.d_v = 256;
  const SmStep step = step_of(plan, hardware, point);
  CHECK(step.demand.bulk == doctest::Approx(2.0 * 64 * 256 * 2 / 128).epsilon(0.03));  // K and V, and Q now and then
  REQUIRE(step.demand.smem > step.demand.products);
  CHECK(step.demand.products == doctest::Approx(step.demand.tensor));  // Q K^T needs all that shared memory gives
  // Tiles of 32 keys: Q's 64 rows come again for so few columns, and Q K^T waits for them.
  point = attention(plan, 16, 4096, 128, 32, 12);
  point.workload.d_qk = point.workload.d_v = 256;
  const SmStep narrow = step_of(plan, hardware, point);
  const double values = narrow.demand.tensor / 2, scores = 2.0 * (64 + 32) * 256 * 2 / 128;
  REQUIRE(scores > values);
  CHECK(narrow.demand.products == doctest::Approx(scores + values));
  // What runs under the group's own product takes longer there, so less of it is done by the product's end.
  point = attention(plan, 16, 4096, 64, 128, 8);
  const double before = step_of(plan, hardware, point).clocks.step[0];
  hardware.measured->beside.wgmma_ex2 = {0.5, "M"}, hardware.measured->beside.wgmma_max = {1, "M"};
  const double slower = step_of(plan, hardware, point).clocks.step[0];
  CHECK(slower > before + 50);
  hardware.measured->sync.mbarrier_passed = {30, "M"};  // of the wait for K
  CHECK(step_of(plan, hardware, point).clocks.step[0] == doctest::Approx(slower + 30));
}

TEST_CASE("tiles that no stream moves go to and from memory while all units wait, but for blocks that ask ahead for theirs") {
  HardwareProfile hardware = textbook();
  hardware.measured->hbm.read = {4000e9, "M"}, hardware.measured->hbm.write = {2000e9, "M"};
  const double tile = 128 * 128 * 2, statistics = 128 * 4;  // of Q and of O; of L
  const Plan threads = load_plan_for_kernel("fused_mma", data);
  const Point point = attention(threads, 16, 4096, 128, 64, 8);
  const AroundProducts around = around_products(bind_island(threads, hardware, point, 0));
  CHECK(around.load == doctest::Approx(tile * 132 / 4000e9));
  CHECK(around.store == doctest::Approx((tile + statistics) * 132 / 2000e9));
  // Twice the time to load and to store: so much more a block, and nothing more a step.
  const auto fixed = [&](const Plan& plan, const Point& at, double read, double write) {
    hardware.measured->hbm.read->value = read, hardware.measured->hbm.write->value = write;
    return step_of(plan, hardware, at).clocks.fixed;
  };
  const double hz = 1830e6;
  CHECK(fixed(threads, point, 2000e9, 2000e9) - fixed(threads, point, 4000e9, 2000e9) == doctest::Approx(around.load * hz));
  CHECK(fixed(threads, point, 4000e9, 1000e9) - fixed(threads, point, 4000e9, 2000e9) == doctest::Approx(around.store * hz));
  const Plan bulk = load_plan_for_kernel("cudnn_forward", data);
  const Point tiles = attention(bulk, 16, 4096, 128, 128, 12);
  CHECK(fixed(bulk, tiles, 4000e9, 1000e9) == doctest::Approx(fixed(bulk, tiles, 4000e9, 2000e9)));
  // Their first tiles are the launch's start; later ones they ask for each at its own time.
  CHECK(fixed(bulk, tiles, 2000e9, 2000e9) == doctest::Approx(fixed(bulk, tiles, 4000e9, 2000e9)));
}

TEST_CASE("blocks that share a unit take longer each and less in all, and never less than its busiest part") {
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const SmStep step = step_of(plan, textbook(), attention(plan, 16, 4096, 64, 64, 4));
  CHECK(step.clocks.step[1] > step.clocks.step[0]);
  CHECK(step.clocks.step[1] < 2 * step.clocks.step[0]);
  CHECK(step.clocks.step[1] >= 2 * std::max(step.demand.tensor, step.demand.smem));
}

TEST_CASE("warpgroups at their own pace keep the tensor cores busier than one of them does") {
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  const HardwareProfile hardware = textbook();
  const SmStep one = step_of(plan, hardware, attention(plan, 16, 4096, 64, 128, 8)),
               two = step_of(plan, hardware, attention(plan, 16, 4096, 128, 128, 12));
  CHECK(one.demand.tensor == doctest::Approx(4.0 * 64 * 128 * 128 / 4096));
  CHECK(two.demand.tensor == doctest::Approx(2 * one.demand.tensor));
  CHECK(two.clocks.step[0] >= two.demand.tensor);
  CHECK(two.clocks.step[0] < 2 * one.clocks.step[0]);
}

TEST_CASE("tiles that an edge of the mask cuts are compared, those between the edges not") {
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const HardwareProfile hardware = textbook();
  Point point = attention(plan, 4, 1024, 128, 64, 8);
  const auto comparisons = [&] {
    const Prediction out = predicted(plan, hardware, point);
    const BoundIsland bound = bind_island(plan, hardware, point, 0);
    const double steps = static_cast<double>(visited_points(bound.nest, bound.whole, {}, true));
    const auto rate = bound.how.work[static_cast<std::size_t>(Pipe::alu)];
    const auto all = static_cast<double>(out.work.pipes[static_cast<std::size_t>(Pipe::alu)]);
    const double scores = 128 * static_cast<double>(point.tiles[1]), values = scores;  // of K, and of V: head_dim 128
    double others = rate.per_score * scores + rate.per_thread_step * 256;
    for (const auto& [array, number] : rate.per_element_step) others += number * values;
    return (all - steps * others) / rate.per_masked_score;
  };
  CHECK(std::abs(comparisons()) < 1);  // but for rounding
  point.mask.kind = Mask::Kind::causal;  // the diagonal crosses two tiles of 64 keys in each of 8 tiles of 128 queries
  CHECK(comparisons() == doctest::Approx(4 * 8 * 2 * 128 * 64));
  point.tiles[1] = 128;  // and one of 128
  CHECK(comparisons() == doctest::Approx(4 * 8 * 128 * 128));
  point.tiles[1] = 64, point.mask.kind = Mask::Kind::window, point.mask.window = 256;  // two more at the other edge
  CHECK(comparisons() == doctest::Approx(4 * 8 * 4 * 128 * 64));
}

TEST_CASE("units without a block are not busy, whatever the others wait for") {
  HardwareProfile hardware = textbook();
  hardware.measured->hbm.read = {4e12, "M"}, hardware.measured->hbm.write = {4e12, "M"};
  const Plan plan = load_plan_for_kernel("backward_split", data);
  const Prediction out = predicted(plan, hardware, attention(plan, 2, 1024, 128, 128, 12));  // 16 blocks an island
  for (const IslandPrediction& island : out.islands) {
    CHECK(island.sm_clocks > 0);
    CHECK(island.busy_clocks > 0);
    CHECK(island.busy_clocks <= 1.001 * island.seconds * 1.98e9 * 16 / 132);
  }
}

TEST_CASE("a faster unit never makes a step longer") {
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  const HardwareProfile hardware = textbook();
  const Point point = attention(plan, 16, 2048, 128, 128, 12);
  const Prediction out = predicted(plan, hardware, point);
  const BoundIsland bound = bind_island(plan, hardware, point, 0);
  const double steps = static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)),
               now = sm_step(bound, out.islands[0], steps).clocks.step[0];
  for (std::size_t lever = 0; lever < lever_count; ++lever) {
    Faster faster = as_it_is;
    faster[lever] = 2;
    // But for a rest: warps that wait less for a unit are more often in each other's way at the scheduler.
    CHECK(sm_step(bound, out.islands[0], steps, faster).clocks.step[0] <= now * 1.002);
  }
}

TEST_CASE("the clock falls until the power fits") {
  HardwareProfile hardware = textbook();
  const IslandTime light{.clocks = 1e6, .busy = 1e6, .floor = 0, .most_hz = 1.83e9};
  const ClockAndPower free = sustained_clock(hardware, {&light, 1}, {.others = 0.1}, 0);
  CHECK(free.hz == 1.83e9);
  CHECK(free.watts == doctest::Approx(100 + 0.1 * 1.83e9 / 1e6));
  const ClockAndPower held = sustained_clock(hardware, {&light, 1}, {.others = 0.4}, 0);
  CHECK(held.watts == doctest::Approx(700).epsilon(1e-6));
  CHECK(held.hz == doctest::Approx(600 / 0.4 * 1e6));
  hardware.measured->power.busy.reset();
  CHECK(sustained_clock(hardware, {&light, 1}, {.others = 0.4}, 0).watts == 0);
}

TEST_CASE("at a lower clock an operation takes less, but a byte of memory the same") {
  HardwareProfile hardware = textbook();
  hardware.measured->clock.most = {2e9, "M"}, hardware.measured->clock.tensor_most = {1.8e9, "M"};
  hardware.measured->power.clock_exponent = {2, "M"};
  const IslandTime island{.clocks = 1e6, .busy = 1e6, .floor = 0, .most_hz = 1.8e9};
  const auto hz = [&](const Energy& energy) { return sustained_clock(hardware, {&island, 1}, energy, 0).hz; };
  CHECK(hz({.memory = 0.4}) == doctest::Approx(1.5e9));  // 600 W = 0.4 J hz / 1e6
  // 600 W = 0.4 J (hz / f)^2 hz / 1e6
  CHECK(hz({.tensor = 0.4}) == doctest::Approx(std::cbrt(600 / 0.4 * 1e6 * 1.8e9 * 1.8e9)));
  CHECK(hz({.others = 0.5}) == doctest::Approx(std::cbrt(600 / 0.5 * 1e6 * 2e9 * 2e9)));
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  CHECK(highest_clock(hardware, plan.kernel.islands.front()) == 1.8e9);
}

TEST_CASE("products from registers have an energy of their own") {
  HardwareProfile hardware = textbook();
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const Prediction out = predicted(plan, hardware, attention(plan, 16, 1024, 128, 64, 8));
  const auto tensor = [&] { return island_energy(hardware, plan.kernel.islands[0], out.islands[0]).tensor; };
  const double from_shared = tensor();
  hardware.measured->power.mma[Format::fp16] = {1e-12, "M"};
  CHECK(tensor() == doctest::Approx(static_cast<double>(out.work.tensor_flop) * 1e-12));
  CHECK(from_shared < static_cast<double>(out.work.tensor_flop) * 0.5e-12);  // less what its operands take apart
  // Elements of one byte: half the operand bytes a FLOP.
  const Plan bytes = load_plan_for_kernel("fused_fp8", data);
  const double flop = 1e12;
  IslandPrediction island;
  island.work.tensor_flop_in[static_cast<std::size_t>(Format::fp8_e4m3)] = static_cast<std::int64_t>(flop);
  hardware.measured->power.tensor[Format::fp8_e4m3] = {0.25e-12, "M"};
  CHECK(island_energy(hardware, bytes.kernel.islands[0], island).tensor ==
        doctest::Approx(flop * (0.25e-12 - 320.0 / (2 * 64 * 256) * 2e-12)));
}

TEST_CASE("a launch waits until its first blocks have their first tiles, for longer when the L2 is empty") {
  HardwareProfile hardware = textbook();
  auto& m = *hardware.measured;
  m.hbm.read = {4e12, "M"}, m.hbm.write = {4e12, "M"}, m.l2.read_private = {8e12, "M"}, m.l2.write = {4e12, "M"};
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const Point point = attention(plan, 16, 4096, 128, 64, 8);
  const auto start = [&] {
    const Prediction out = predicted(plan, hardware, point);
    return launch_start(bind_island(plan, hardware, point, 0), out.islands[0]);
  };
  // One block on each of 132 units: a tile of Q each, and of K and V for each of the five heads that they begin with.
  const double bytes = 132 * 128 * 128 * 2 + 2 * 5 * 64 * 128 * 2;
  CHECK(start().cold == doctest::Approx(bytes / 4e12));
  CHECK(start().again == start().cold);
  m.l2.capacity_private = {1e9, "M"};
  CHECK(start().again == doctest::Approx(bytes / 8e12));
}

TEST_CASE("without measured rates the slowest resource is the time, and says that it is a lower bound") {
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

TEST_CASE("blocks placed one by one see the tail that a causal mask leaves, and what would shorten it") {
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const HardwareProfile hardware = textbook();
  Point point = attention(plan, 16, 4096, 128, 64, 8);
  point.mask.kind = Mask::Kind::causal;
  const Prediction mean = predicted(plan, hardware, point);
  point.l2 = L2Model::walk;
  const Prediction placed = predicted(plan, hardware, point);
  CHECK(placed.time.sm_cycles > mean.time.sm_cycles);
  CHECK(placed.time.busy_cycles == doctest::Approx(mean.time.busy_cycles).epsilon(0.1));
  CHECK(placed.time.gain[static_cast<std::size_t>(Lever::smem)] > 0.02);
  CHECK(mean.time.gain[static_cast<std::size_t>(Lever::smem)] == 0);
}

TEST_CASE("products of threads take wavefronts of shared memory, slots of the schedulers and the waits of every round") {
  const Plan plan = load_plan_for_kernel("reference_fp32", data);
  HardwareProfile hardware = textbook();
  hardware.measured->l2.latency_near = {300, "M"}, hardware.measured->l2.latency_far = {500, "M"};
  const SmStep step = step_of(plan, hardware, attention(plan, 16, 4096, 64, 64, 8));
  CHECK(step.demand.smem == doctest::Approx(64 * 128));  // 0.375 + 0.625 wavefronts an element of Q and of K
  CHECK(step.demand.issue == doctest::Approx((64 * 64 * (128 + 1 + 12.7) + 64 * 128 * 52.25) / 128));
  CHECK(step.latency == doctest::Approx(4 * 4 * 400));  // 128 terms in rounds of 32, four waits each; no barrier is known
  CHECK(step.clocks.step[0] == doctest::Approx(step.demand.smem + step.demand.issue + step.latency));
}

TEST_CASE("a merge of parts has a block a row and 128 columns, and waits for loads, shuffles and barriers in turn") {
  const Plan plan = load_plan_for_kernel("split_kv", data);
  HardwareProfile hardware = textbook();
  hardware.measured->l2.latency_near = {300, "M"}, hardware.measured->l2.latency_far = {500, "M"};
  hardware.measured->l2.capacity_private = {50e6, "M"};
  Point point = attention(plan, 32, 8192, 128, 64, 4);
  point.workload.q_len = 2;
  const auto set_tile = [&](const char* name, std::int64_t value) {
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter(name))] = value;
  };
  set_tile("q", 16), set_tile("kv", 64), set_tile("splits", 4);
  CHECK(predicted(plan, hardware, point).islands[1].blocks == 8);  // a thread has eight columns: eight rows a block
  set_tile("splits", 64);
  const Prediction many = predicted(plan, hardware, point);
  CHECK(many.islands[1].blocks == 64);  // 32 heads of two queries
  const BoundIsland bound = bind_island(plan, hardware, point, 1);
  SmRates rates = sm_rates(hardware);
  rates.hbm = 1000, rates.shuffle_chain = 20;
  const BlockWaits waits = block_waits(bound, many.islands[1], rates);
  // Log-sum-exps: 2 of a lane, twice; O: 16 of a thread, two eights of four waits each.
  const double others = 10 * 20 + 2 * rates.block_barrier(4);
  CHECK(waits.again == doctest::Approx((2 + 2 + 8) * 500 + others));  // an earlier island wrote them; some line is far
  CHECK(waits.alone == doctest::Approx((2 + 8) * (1000 + 100) + 2 * 500 + others));
  CHECK(handed_over(bound, many) > 0);
  CHECK(handed_over(bind_island(plan, hardware, point, 0), many) == 0);
}

TEST_CASE("a tile of keys that begins in the middle of a line takes longer: half of the heads, where their number is odd") {
  const Plan plan = load_plan_for_kernel("split_kv", data);
  HardwareProfile hardware = textbook();
  hardware.measured->hbm.read = {4e12, "M"}, hardware.measured->hbm.read_off_line = {3.2e12, "M"};
  const auto more = [&](std::int64_t keys, Format format) {
    Point point = attention(plan, 2, keys, 16, 64, 4);
    point.workload.batch = 16, point.workload.q_len = 1, point.workload.d_qk = point.workload.d_v = 64;
    for (std::size_t i = 0; i < plan.schedule.diagram.arrays.size(); ++i)
      if (const std::string& name = plan.schedule.diagram.arrays[i].name; name == "K" || name == "V") point.dtypes[i].format = format;
    return off_line_seconds(bind_island(plan, hardware, point, 0), predicted(plan, hardware, point));
  };
  CHECK(more(70896, Format::fp8_e4m3) == 0);
  CHECK(more(70897, Format::fp8_e4m3) == doctest::Approx(2 * 16 * 70897 * 64.0 * (1 / 3.2e12 - 1 / 4e12)));
  CHECK(more(70897, Format::fp16) == 0);
}

TEST_CASE("bytes that stream begin with a ramp and end with the last tile's step; no run is faster than the host") {
  const IslandTime streams{.clocks = 1000, .busy = 1000, .floor = 1e-6, .most_hz = 1e9, .ramp = 2e-6, .last = 500};
  CHECK(streams.seconds(1e9) == doctest::Approx(3.5e-6));
  CHECK(streams.seconds(0.5e9) == doctest::Approx(4e-6));
  const IslandTime alike{.clocks = 1000, .busy = 1000, .floor = 1e-6, .most_hz = 1e9, .ramp = 2e-6, .last = 500, .share = 0.9};
  CHECK(alike.busy_cycles() == doctest::Approx(0.9 * 3500));
  const IslandTime works{.clocks = 9000, .busy = 9000, .floor = 1e-6, .most_hz = 1e9, .ramp = 2e-6, .last = 500};
  CHECK(works.seconds(1e9) == doctest::Approx(9e-6));
  const IslandTime nothing{.clocks = 100, .busy = 100, .floor = 0, .most_hz = 1e9, .ramp = 2e-6, .last = 500};
  CHECK(nothing.seconds(1e9) == doctest::Approx(1e-7));
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  HardwareProfile hardware = textbook();
  hardware.measured->launch.host_interval = {1.0, "M"};
  CHECK(predicted(plan, hardware, attention(plan, 1, 64, 64, 64, 4)).time.total == doctest::Approx(1.0));
}

TEST_CASE("wavefronts and instructions of products of threads are those that an H200 counted") {
  const Plan plan = load_plan_for_kernel("reference_fp32", data);
  const HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  const Prediction out = predicted(plan, hardware, attention(plan, 16, 4096, 64, 64, 8));
  struct {
    std::size_t island;
    double wavefronts, instructions;
  } const counted[] = {{0, 561'052'890, 2'065'170'432}, {2, 296'715'675, 1'656'782'848}};
  for (const auto& [island, wavefronts, instructions] : counted) {
    const auto& pipes = out.islands[island].work.pipes;
    const auto shared = static_cast<double>(pipes[static_cast<std::size_t>(Pipe::shared)]);
    double threads = -shared;
    for (const std::int64_t each : pipes) threads += static_cast<double>(each);
    CHECK(shared == doctest::Approx(wavefronts).epsilon(0.05));  // counted with a few that were repeated
    CHECK(threads / 32 == doctest::Approx(instructions).epsilon(0.005));
  }
}

TEST_CASE("a network's round is its demands alone, and in numbers the busiest station's") {
  const Network balanced{.demand = {10, 10, 10, 10}, .delay = 5};
  CHECK(balanced.round(1) == doctest::Approx(45));
  const Network queues{.demand = {10, 10, 10, 10}, .delay = 0};
  for (const std::int64_t n : {1, 2, 5, 9})
    CHECK(queues.round(n) == doctest::Approx(10.0 * static_cast<double>(n + 3)));  // the known answer of equal stations
  const Network one{.demand = {100, 1, 1, 1}, .delay = 0};
  CHECK(one.round(50) == doctest::Approx(5000).epsilon(0.01));
  const Network issues{.demand = {10, 10, 10, 10}, .delay = 5, .issue = 20};
  CHECK(issues.round(1) == doctest::Approx(45));  // nobody else's instructions
  CHECK(issues.round(2) > balanced.round(2) + 5);
  const Network turns{.demand = {50, 50, 0, 0}, .delay = 0, .in_turn = true};
  const Network shared{.demand = {50, 50, 0, 0}, .delay = 0};
  CHECK(turns.round(2) < shared.round(2));
  CHECK(turns.round(2) >= 100);
}

TEST_CASE("a network's round is no less than the instructions of all its customers") {
  const Network issues{.demand = {10, 10, 10, 10}, .delay = 5, .issue = 40};
  CHECK(issues.round(1) == doctest::Approx(45));
  CHECK(issues.round(40) == doctest::Approx(40.0 * 40).epsilon(0.01));
}

TEST_CASE("warps of mma.sync wait for their own instructions' latencies and for copies that nothing runs ahead of") {
  Plan plan = load_plan_for_kernel("pytorch_efficient", data);
  HardwareProfile hardware = textbook();
  hardware.measured->l2.latency_near = {300, "M"}, hardware.measured->l2.latency_far = {500, "M"};
  Point point = attention(plan, 16, 2048, 64, 64, 4);
  point.workload.d_qk = point.workload.d_v = 64;
  IslandImplementation& how = plan.kernel.islands[0];
  const auto step_with = [&](double stalls, bool in_product) {
    how.stall_clocks = stalls, how.loads_in_product = in_product;
    return step_of(plan, hardware, point);
  };
  const SmStep plain = step_with(0, false);
  CHECK(step_with(0, true).latency - plain.latency == doctest::Approx(2 * 400));  // two products, half of the L2 is near
  // Four warps, one a scheduler: a step of a block alone takes each instruction's clocks.
  // Products take what their unit takes: their instructions' stall counts do not matter.
  const double others = plain.demand.issue - plain.demand.issue_products;
  CHECK(plain.demand.issue_products == doctest::Approx((2.0 * 64 * 64 * 64 / (16 * 8 * 16) + 104 * 1024.0 / 512) / 4).epsilon(0.5));
  CHECK(step_with(14, false).latency - step_with(13, false).latency == doctest::Approx(others));
  CHECK(step_with(14, false).clocks.step[0] >= 14 * others + plain.demand.tensor);
  CHECK(step_with(1, false).latency == plain.latency);  // what pipes take anyway is longer
}

TEST_CASE("plain products find their operands in memory when counted alone, in the L2 after the island that wrote them") {
  Plan plan = load_plan_for_kernel("reference_fp32", data);
  HardwareProfile hardware = textbook();
  hardware.measured->l2.latency_near = {300, "M"}, hardware.measured->l2.latency_far = {500, "M"};
  hardware.measured->l2.capacity_private = {50e6, "M"}, hardware.measured->smem.latency = {20, "M"};
  hardware.measured->hbm.latency = {1000 / hardware.boost_hz->value, "M"};
  const Point point = attention(plan, 4, 1024, 64, 64, 8);
  const auto latency = [&](Inputs inputs) {
    const Prediction out = predicted(plan, hardware, point);
    const BoundIsland bound = bind_island(plan, hardware, point, 2);
    return sm_step(bound, out.islands[2], 4.0 * 16 * 16, as_it_is, inputs).latency;
  };
  const Prediction out = predicted(plan, hardware, point);
  const auto& traffic = out.islands[2].traffic;
  const auto read = [&](Boundary from) { return static_cast<double>(traffic[static_cast<std::size_t>(from)][0]); };
  CHECK(out.islands[2].read_in_sequence == doctest::Approx(4.0 * 1024 * 128 * 2));  // V: P is in the L2
  const double missed = (read(Boundary::hbm) - out.islands[2].read_in_sequence) / read(Boundary::l2);
  // 64 keys in two rounds of three waits each.
  CHECK(latency(Inputs::in_memory) - latency(Inputs::in_sequence) == doctest::Approx(2 * 3 * missed * 600));
  // Run after run, of what the L2 has room for: V is there too.
  const double of_values = out.islands[2].read_in_sequence / read(Boundary::l2);
  CHECK(latency(Inputs::in_sequence) - latency(Inputs::in_l2) == doctest::Approx(2 * 3 * of_values * 600));
  const double before = latency(Inputs::in_sequence);
  plan.kernel.islands[2].rounds.shared_waits_of.numbers[128] += 10;
  CHECK(latency(Inputs::in_sequence) - before == doctest::Approx(2 * 10 * 20));
  // No copy is under way before the first round: what the copy engine takes from memory is no part of a block.
  const auto fixed = [&] {
    const Prediction now = predicted(plan, hardware, point);
    return sm_step(bind_island(plan, hardware, point, 2), now.islands[2], 4.0 * 16 * 16).clocks.fixed;
  };
  const double at_once = fixed();
  hardware.measured->tma.latency_hbm = {9000 / hardware.boost_hz->value, "M"};
  CHECK(fixed() == doctest::Approx(at_once));
}

TEST_CASE("of what an island wrote, the next finds what the bytes in between have not pushed out") {
  const Plan plan = load_plan_for_kernel("reference", data);
  HardwareProfile hardware = textbook();
  // By the scores of so many heads, 1024 x 1024 in fp16; capacity in matrices of all heads' scores.
  const auto kept = [&](std::int64_t heads, int island, double capacity) {
    const double scores = static_cast<double>(heads) * 1024 * 1024 * 2;
    hardware.measured->l2.capacity_private = {capacity * scores, "M"};
    const Prediction out = predicted(plan, hardware, attention(plan, heads, 1024, 128, 128, 4));
    const IslandPrediction& read = out.islands[static_cast<std::size_t>(island)];
    return (static_cast<double>(read.traffic[static_cast<std::size_t>(Boundary::hbm)][0]) - read.read_in_sequence) / scores;
  };
  CHECK(kept(32, 1, 4) == doctest::Approx(1));
  CHECK(kept(32, 1, 0.5) == 0);
  // Softmax drops a byte of S for each of P that it writes, and comes to the dropped ones next.
  CHECK(kept(32, 1, 1.5) == doctest::Approx(0.4).epsilon(0.1));
  // P V comes first to what softmax wrote first, which is gone; what it wrote last is there. 2 since, then 1 and V and O.
  CHECK(kept(32, 2, 1.5) == doctest::Approx(1 - 0.5 / (2 - 1.25)).epsilon(0.02));
  // With all blocks at once the ones that find nothing end last.
  CHECK(kept(16, 2, 1.5) == 0);
  CHECK(kept(16, 2, 4) == doctest::Approx(1));
}

TEST_CASE("as many blocks are resident as the registers of the instance for the size leave room for") {
  const Plan plan = load_plan_for_kernel("reference", data);
  const HardwareProfile hardware = textbook();
  const auto resident = [&](int island, std::int64_t keys, std::int64_t head_dim) {
    Point point = attention(plan, 16, 1024, 128, 128, 4);
    point.workload.kv_len = keys, point.workload.d_qk = point.workload.d_v = head_dim;
    return predicted(plan, hardware, point).islands[static_cast<std::size_t>(island)].blocks_per_unit;
  };
  CHECK(resident(0, 1024, 64) == 2);   // 181 registers of 128 threads
  CHECK(resident(0, 1024, 128) == 3);  // 168
  CHECK(resident(1, 2048, 128) == 8);  // softmax: 27 registers of 256 threads, warps are the limit
  CHECK(resident(1, 2049, 128) == 8);
  CHECK(resident(1, 4159, 128) == 5);  // 48
  CHECK(resident(1, 20000, 128) == 1);
}

TEST_CASE("results that threads store in every step hold up their next copies, at the rate of a unit's stores") {
  HardwareProfile hardware = textbook();
  const auto clocks = [&](const char* kernel, double rate) {
    if (rate > 0) hardware.measured->local.store = {rate, "M"};
    const Plan plan = load_plan_for_kernel(kernel, data);
    const SmStep step = step_of(plan, hardware, attention(plan, 132, 2048, 128, 128, 8));
    return step.clocks.step[0];
  };
  // O of a step, 128 x 128 in fp16, and m and l: flash1 stores them, fused_mma keeps them.
  const double without = clocks("flash1", 0), fast = clocks("flash1", 64), slow = clocks("flash1", 32);
  constexpr double bytes = 128 * 128 * 2 + 2 * 128 * 4;
  CHECK(fast - without == doctest::Approx(bytes / 64));
  CHECK(slow - without == doctest::Approx(bytes / 32));
  hardware.measured->local.store.reset();
  const double kept = clocks("fused_mma", 0);
  CHECK(clocks("fused_mma", 32) == kept);
}

TEST_CASE("warps of mma.sync take what their machine code takes, before, in and after the steps") {
  Plan plan = load_plan_for_kernel("split_kv", data);
  HardwareProfile hardware = textbook();
  Point point = attention(plan, 32, 8192, 128, 64, 4);
  point.workload.q_len = 1;
  const auto set_tile = [&](const char* name, std::int64_t value) {
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter(name))] = value;
  };
  set_tile("q", 16), set_tile("kv", 64), set_tile("splits", 1);
  const auto step_with = [&](WarpClocks clocks, bool first) {
    for (KernelVariant& variant : plan.kernel.variants) variant.warp_clocks = clocks;
    plan.kernel.islands[0].loads_first.clear();
    if (first) plan.kernel.islands[0].loads_first.push_back("Q");
    return step_of(plan, hardware, point);
  };
  hardware.measured->hbm.latency = {1e-6, "M"};
  const SmStep none = step_with({}, false), slow = step_with({700, 90000, 500}, false), first = step_with({700, 90000, 500}, true);
  CHECK(slow.clocks.step[0] >= 90000);
  CHECK(slow.clocks.step[0] < 91000);
  CHECK(slow.clocks.fixed - none.clocks.fixed == doctest::Approx(700 + 500));
  CHECK(first.lead - slow.lead == doctest::Approx(1e-6 * hardware.boost_hz->value));
  CHECK(slow.lead == 700);
  CHECK(slow.trail == 500);
}

TEST_CASE("warpgroups at their own pace wait for a step's products part by part, and begin each block's first step together") {
  Plan plan = load_plan_for_kernel("backward_split", data);
  const HardwareProfile hardware = textbook();
  const Point point = attention(plan, 16, 4096, 128, 128, 12);
  const auto step_with = [&](Overlap overlap, std::int64_t parts) {
    plan.kernel.islands[1].overlap = overlap;
    for (ProductImplementation& product : plan.kernel.islands[1].products) product.parts = parts;
    const Prediction out = predicted(plan, hardware, point);
    const BoundIsland bound = bind_island(plan, hardware, point, 1);
    return sm_step(bound, out.islands[1], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
  };
  const SmStep free = step_with(Overlap::free, 2), whole = step_with(Overlap::free, 1);
  CHECK(free.latency - whole.latency == doctest::Approx(4 * (137 - 64)));  // four products, waited for once more each
  const StepDemand& d = free.demand;
  const double phases = std::max({d.products, d.smem - d.bulk, d.threads}) + std::max(d.xu, d.fma_scores) + d.alu +
                        d.fma_outputs + free.latency;
  REQUIRE(phases > free.clocks.step[0] + 100);
  const double more = free.clocks.fixed - step_with(Overlap::lockstep, 2).clocks.fixed;
  CHECK(more == doctest::Approx(phases - free.clocks.step[0]));
}

TEST_CASE("what units of a group ask for together leaves the L2 once, up to the rate of all units reading the same") {
  CHECK(asked_together(1, 8) == 1);
  CHECK(asked_together(132, 1) == doctest::Approx(132));
  CHECK(asked_together(2, 2) == doctest::Approx(2 / 1.5));  // in one group or in both, as likely
  HardwareProfile hardware = textbook();
  hardware.l2_groups = Sourced<std::vector<UnitGroup>>{std::vector<UnitGroup>(8, UnitGroup{16, 0}), "M"};
  hardware.measured->l2.read_private = {4000e9, "M"}, hardware.measured->l2.write = {4000e9, "M"};
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  const auto l2_seconds = [&](std::int64_t heads, std::int64_t length) {
    const Point point = attention(plan, heads, length, 64, 64, 8);
    const Prediction out = predicted(plan, hardware, point);
    return out.islands[0].resource_seconds[static_cast<std::size_t>(Resource::l2)] /
           static_cast<double>(out.islands[0].traffic[static_cast<std::size_t>(Boundary::l2)][0]);
  };
  CHECK(l2_seconds(8, 16384) == doctest::Approx(1 / 4000e9));  // without a rate for sharing
  hardware.measured->l2.read_shared = {10000e9, "M"};
  // All units on one head's keys: the rate of all. One tile of queries a head: each unit has its own keys.
  CHECK(l2_seconds(8, 16384) == doctest::Approx(1 / 10000e9));
  CHECK(l2_seconds(264, 64) == doctest::Approx(1 / 4000e9));
  const double between = l2_seconds(66, 256);  // four tiles a head
  CHECK(between < 1 / 4000e9 / 1.1);
  CHECK(between > 1 / 10000e9 * 1.1);
  const Point point = attention(plan, 66, 256, 64, 64, 8);
  const BoundIsland bound = bind_island(plan, hardware, point, 0);
  const auto keys = *plan.schedule.diagram.find_array("K");
  CHECK(tiles_at_work(bound, keys, 132) == 33);
}

TEST_CASE("a scheduler that issues a product issues nothing else, and blocks take no longer than one after the other") {
  Plan plan = load_plan_for_kernel("split_kv", data);
  HardwareProfile hardware = textbook();
  Point point = attention(plan, 32, 8192, 128, 64, 4);
  point.workload.q_len = 1;
  const auto set_tile = [&](const char* name, std::int64_t value) {
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter(name))] = value;
  };
  set_tile("q", 16), set_tile("kv", 64), set_tile("splits", 1);
  const auto pair_with = [&](double interval, double alone) {
    for (KernelVariant& variant : plan.kernel.variants) variant.warp_clocks = {700, alone, 500};
    hardware.measured->tensor.mma.clear();
    if (interval > 0) hardware.measured->tensor.mma[Format::fp16] = {interval, "M"};
    const SmStep step = step_of(plan, hardware, point);
    CHECK(step.clocks.step[1] <= 2 * step.clocks.step[0] * (1 + 1e-9));
    return step.clocks.step[1];
  };
  CHECK(pair_with(8, 1500) > pair_with(0, 1500));
  CHECK(pair_with(8, 700) <= 2 * 900.0);
}

TEST_CASE("what stays in the L2 from run to run comes sooner than from memory, and not in the first run") {
  const IslandTime memory{.clocks = 1000, .busy = 1000, .floor = 5e-6, .most_hz = 1e9};
  const IslandTime stays{.clocks = 1000, .busy = 1000, .floor = 5e-6, .most_hz = 1e9, .sooner = 3e-6};
  CHECK(memory.seconds(1e9) == doctest::Approx(5e-6));
  CHECK(stays.seconds(1e9) == doctest::Approx(2e-6));
  CHECK(stays.cold_seconds(1e9) == doctest::Approx(5e-6));
  const IslandTime waits{.clocks = 9000, .busy = 9000, .floor = 5e-6, .most_hz = 1e9, .again = 7000};  // loads that hit
  CHECK(waits.seconds(1e9) == doctest::Approx(7e-6));
  CHECK(waits.cold_seconds(1e9) == doctest::Approx(9e-6));
  const Plan plan = load_plan_for_kernel("split_kv", data);
  HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  Point point = attention(plan, 8, 2048, 128, 64, 4);
  point.workload.q_len = 1, point.workload.batch = 4;
  const auto total = [&] { return predicted(plan, hardware, point).time.total; };
  const double with = total();  // 34 MB
  hardware.measured->l2.capacity_private = {20e6, "M"};
  CHECK(with < total());
}

TEST_CASE("tiles that a block asks for before its first step come together") {
  Plan plan = load_plan_for_kernel("mla_decode", data);
  HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  Point point = default_point(plan);
  point.workload = {.batch = 128, .heads_q = 64, .heads_kv = 1, .q_len = 1, .kv_len = 4096, .d_qk = 576, .d_v = 512};
  const auto cold = [&](std::int64_t stages) {
    plan.kernel.islands[0].stages = stages;
    const Prediction out = predicted(plan, hardware, point);
    return launch_start(bind_island(plan, hardware, point, 0), out.islands[0]).cold;
  };
  constexpr double tile = 128.0 * 64 * 576 * 2;  // bytes, of 128 blocks: Q, and as many tiles of keys as there are stages
  CHECK(cold(2) - cold(1) == doctest::Approx(tile / hardware.measured->hbm.read->value));
  CHECK(cold(1) == doctest::Approx(2 * tile / hardware.measured->hbm.read->value));
}

TEST_CASE("additions to memory are a station of their own: in a step's sequence alone, under the other group's work with two") {
  Plan plan = load_plan_for_kernel("backward", data);
  HardwareProfile hardware = textbook();
  Point point = attention(plan, 16, 4096, 64, 128, 12);
  const auto step_with = [&](Overlap overlap, double rate) {
    plan.kernel.islands[1].overlap = overlap;
    hardware.measured->atomics.red_fp32.reset();
    if (rate > 0) hardware.measured->atomics.red_fp32 = {rate * 132 * hardware.boost_hz->value, "M"};
    const Prediction out = predicted(plan, hardware, point);
    const BoundIsland bound = bind_island(plan, hardware, point, 1);
    return sm_step(bound, out.islands[1], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
  };
  const SmStep none = step_with(Overlap::lockstep, 0), all = step_with(Overlap::lockstep, 16);
  CHECK(none.demand.added == 0);
  CHECK(all.demand.added == doctest::Approx(64.0 * 128 * 4 / 16));  // a tile of dQ, fp32; its zeros are the first kernel's
  CHECK(all.clocks.step[0] - none.clocks.step[0] == doctest::Approx(all.demand.added));
  const double more = step_with(Overlap::free, 16).clocks.step[0] - step_with(Overlap::free, 0).clocks.step[0];
  CHECK(more > 0.3 * all.demand.added);
  CHECK(more < 0.9 * all.demand.added);
  // Ten times as slow, nothing else matters but what it cannot hide.
  CHECK(step_with(Overlap::free, 1.6).clocks.step[0] >= 10 * all.demand.added);
}

TEST_CASE("groups that take turns at the special functions: alone one phase after the other, then as the busiest allows") {
  const SpecialTurns step{100, 100, 50, 80, 20};
  CHECK(step.round(1) == doctest::Approx(350));
  // A: 0, 100, 150, 230 to 330, ready for its next at 350. B: 100, 200, its turn 250 to 330, and the matrix unit until 430.
  CHECK(step.round(2) == doctest::Approx(430));
  CHECK(SpecialTurns{10, 10, 50, 80, 20}.round(2) == doctest::Approx(170));  // nobody waits
  CHECK(SpecialTurns{10, 10, 5, 80, 5}.round(2) == doctest::Approx(160));    // the special functions
  // Of equal products one waits for the other's: 1024 of 3763 clocks are free when the next step's could begin.
  const double wide = SpecialTurns{1024, 1024, 600, 855, 260}.round(2);
  CHECK(wide > 4096);
  CHECK(wide < 4096 + 855);
}

TEST_CASE("the matrix unit serves one group's product after another's: on average half of one is left for who comes") {
  const Network any{{100, 60, 0, 0}, 40};
  Network one_by_one = any, in_turn = any;
  one_by_one.products_in_turn = true, in_turn.in_turn = true;
  CHECK(one_by_one.round(1) == any.round(1));
  CHECK(one_by_one.round(2) == doctest::Approx(any.round(2) - 100 * (100 / 200.0) / 2));
  CHECK(in_turn.round(2) < one_by_one.round(2));
}

TEST_CASE("arithmetic of one group holds up the products of another, not its own") {
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  HardwareProfile hardware = textbook();
  const auto clocks = [&](std::int64_t tile_q, std::int64_t warps, double held) {
    hardware.measured->beside.wgmma_held = {held, "M"};
    return step_of(plan, hardware, attention(plan, 16, 4096, tile_q, 128, warps)).clocks.step[0];
  };
  CHECK(clocks(64, 8, 0.6) == doctest::Approx(clocks(64, 8, 0)));
  CHECK(clocks(128, 12, 0.6) > clocks(128, 12, 0) + 10);
}

TEST_CASE("what wgmma's warps do with the scores of a later product does not run under special functions") {
  const HardwareProfile hardware = textbook();
  const Plan plan = load_plan_for_kernel("backward", data);
  const Point point = attention(plan, 16, 4096, 64, 128, 12);
  const Prediction out = predicted(plan, hardware, point);
  const BoundIsland bound = bind_island(plan, hardware, point, 1);
  const SmStep step = sm_step(bound, out.islands[1], static_cast<double>(visited_points(bound.nest, bound.whole, {}, true)));
  const double of_scores = 64.0 * 128 / 128;  // one operation for each, at 128 a clock
  CHECK(step.demand.fma_scores == doctest::Approx(of_scores).epsilon(0.01));       // S scale - L
  CHECK(step.demand.fma_outputs == doctest::Approx(2 * of_scores).epsilon(0.05));  // P (dP - D); dK at the end
  // One product of scores: all of it is the softmax's.
  const Plan forward = load_plan_for_kernel("fused_wgmma", data);
  const SmStep softmax = step_of(forward, hardware, attention(forward, 16, 4096, 128, 128, 12));
  CHECK(softmax.demand.fma_scores > 2 * 128.0 * 128 / 128);
}
