#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "predict/l2/memory_seconds.h"
#include "predict/sm/block_waits.h"
#include "predict/sm/queueing_network.h"
#include "predict/textbook.h"
#include "predict/time/launch_time.h"

namespace step_time_sequence_test {

using namespace tilescope;

TEST_CASE("a launch waits for the first tiles of its first blocks, and waits longer when the L2 is empty") {
  HardwareProfile hardware = textbook();
  auto& m = *hardware.measured;
  m.hbm.read = {4e12, "M"}, m.hbm.write = {4e12, "M"}, m.l2.read_private = {8e12, "M"}, m.l2.write = {4e12, "M"};
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  const Point point = attention(plan, 16, 4096, 128, 64, 8);
  const auto start = [&] {
    const Staged stages = staged(plan, hardware, point);
    return first_tiles(stages.launches[0], 0);
  };
  // Each of 132 SMs starts one block, which loads a tile of Q. These blocks belong to five heads. Each head loads a
  // tile of K and a tile of V.
  const double bytes = 132 * 128 * 128 * 2 + 2 * 5 * 64 * 128 * 2;
  CHECK(start().cold == doctest::Approx(bytes / 4e12));
  CHECK(start().warm == doctest::Approx(bytes / 8e12));
  // Run after run memory brings the part of them that has left the L2.
  const Staged stages = staged(plan, hardware, point);
  const LaunchAtSm& launch = stages.launches[0];
  const SmStep step = sm_clocks(launch);
  const LaunchTime by_itself = launch_time(launch, step, placed_blocks(launch, step));
  CHECK(by_itself.start.cold == start().cold);  // a block asks for one tile before its first step
  for (const double gone : {0.0, 0.4, 0.6, 1.0})
    CHECK(time_in_sequence(launch, by_itself, gone).start.warm ==
          doctest::Approx(std::max(bytes / 8e12, gone * bytes / 4e12)));
}

TEST_CASE("the part that has left the L2 follows the measured curve, and is never smaller for more bytes") {
  HardwareProfile hardware = textbook();
  auto& l2 = hardware.measured->l2;
  CHECK(gone_from_l2(hardware, 1) == 1);  // nobody measured it
  l2.capacity_private = {50e6, "M"};
  CHECK(gone_from_l2(hardware, 50e6) == 0);
  CHECK(gone_from_l2(hardware, 51e6) == 1);
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    l2.again.clear();
    double at = 1e6 * static_cast<double>(1 + random() % 60);
    for (int percent = 5; percent < 100; percent += 5 + 5 * static_cast<int>(random() % 4))
      l2.again[percent] = {at, "M"}, at += 1e5 * static_cast<double>(1 + random() % 50);
    if (l2.again.size() < 2) continue;
    for (const auto& [percent, bytes] : l2.again)
      CHECK(gone_from_l2(hardware, bytes.value) == doctest::Approx(static_cast<double>(percent) / 100));
    double last = 0;
    for (double bytes = 0; bytes < 3e8; bytes += 1e6) {
      const double gone = gone_from_l2(hardware, bytes);
      CHECK(gone >= last);
      CHECK(gone <= 1);
      last = gone;
    }
    CHECK(gone_from_l2(hardware, 0) < static_cast<double>(l2.again.begin()->first) / 100);
    CHECK(last == 1);
  }
}

TEST_CASE(
    "what a launch reads of an earlier launch's results is counted once, and a quarter again for two partitions") {
  HardwareProfile hardware = textbook();
  auto& l2 = hardware.measured->l2;
  l2.again = {{0, {0, "M"}}, {100, {1e12, "M"}}};  // the part is the bytes over 1 TB
  const Plan plan = load_plan_for_kernel("reference", data);
  const Staged stages = staged(plan, hardware, attention(plan, 8, 512, 128, 128, 4));
  double once = 0, again = 0;
  for (std::size_t i = 0; i < stages.counts.size(); ++i)
    for (const Term& term : stages.counts[i].terms) {
      if (term.boundary != Boundary::hbm) continue;
      const bool result =
          term.direction == Direction::read && from_earlier_launch(stages.bound[i], static_cast<ArrayId>(term.array));
      (result ? again : once) += static_cast<double>(term.bytes);
    }
  REQUIRE(again > 0);
  hardware.l2_partitions.reset();
  CHECK(gone_from_l2(hardware, bytes_between_runs(hardware, stages.counts)) == doctest::Approx(once / 1e12));
  hardware.l2_partitions = {2, "M"};
  CHECK(gone_from_l2(hardware, bytes_between_runs(hardware, stages.counts)) ==
        doctest::Approx((once + again / 4) / 1e12));
}

TEST_CASE("what the L2 reads and stores at once comes at the rate of both, the rest at its own") {
  HardwareProfile hardware = textbook();
  auto& l2 = hardware.measured->l2;
  l2.read_private = {8e12, "M"}, l2.write = {4e12, "M"};
  const Plan plan = load_plan_for_kernel("reference", data);
  for (const std::int64_t length : {512, 777, 4096})
    for (std::size_t launch = 0; launch < 3; ++launch) {
      const Staged stages = staged(plan, hardware, attention(plan, 8, length, 128, 128, 4));
      const LaunchCounts& counts = stages.counts[launch];
      const auto read = static_cast<double>(counts.traffic.read(Boundary::l2)),
                 stored = static_cast<double>(counts.traffic.written(Boundary::l2)), both = std::min(read, stored);
      l2.write_and_read.reset();
      const double slower = l2_seconds(stages.bound[launch], counts);
      CHECK(slower == doctest::Approx(std::max(read / 8e12, stored / 4e12)));
      l2.write_and_read = {3e12, "M"};
      CHECK(l2_seconds(stages.bound[launch], counts) ==
            doctest::Approx(both / 3e12 + (read - both) / 8e12 + (stored - both) / 4e12));
      l2.write_and_read = {1e15, "M"};  // no faster than the slower way alone
      CHECK(l2_seconds(stages.bound[launch], counts) >= slower);
    }
}

TEST_CASE(
    "a launch finds its data in the L2 unless the bytes that pass through the L2 between runs exceed its capacity") {
  HardwareProfile hardware = textbook();
  auto& m = *hardware.measured;
  m.l2.capacity_private = {50e6, "M"}, m.launch.interval = {1e-6, "M"};
  const Plan plan = load_plan_for_kernel("reference", data);
  const auto launches = [&](std::int64_t length) {
    return predicted(plan, hardware, attention(plan, 8, length, 128, 128, 4)).time.launch;
  };
  CHECK(launches(4096) == doctest::Approx(3e-6));  // interval_from_memory is not measured
  m.launch.interval_from_memory = {2e-6, "M"};
  CHECK(launches(512) == doctest::Approx(3e-6));
  CHECK(launches(4096) == doctest::Approx(6e-6));  // S and P, each written and read: 1 GB
}

TEST_CASE("a run alone takes longer by what two events around a kernel show, once for all of its launches") {
  HardwareProfile hardware = textbook();
  auto& m = *hardware.measured;
  m.launch.interval = {1e-6, "M"};
  const Plan plan = load_plan_for_kernel("reference", data);
  const auto time = [&] { return predicted(plan, hardware, attention(plan, 1, 512, 128, 128, 4)).time; };
  const TimePrediction unknown = time();
  CHECK(unknown.cold_launch == doctest::Approx(3e-6));
  m.launch.block = {1e-7, "M"}, m.launch.alone = {4e-6, "M"};
  const TimePrediction known = time();
  CHECK(known.cold_launch == doctest::Approx(3.9e-6 + 2 * 0.9e-6));
  CHECK(known.launch == doctest::Approx(3 * 0.9e-6));
}

TEST_CASE(
    "a launch without products has the cycles of the highest clock, whatever the power limit leaves run after run") {
  const Plan plan = load_plan_for_kernel("reference", data);
  HardwareProfile hardware = find_profile("h100_sxm", data / "hardware");
  std::mt19937 random(2811);
  int limited = 0;
  for (int i = 0; i < 6; ++i) {
    const Point point = attention(plan, 8 + static_cast<std::int64_t>(random() % 9),
                                  128 * (16 + static_cast<std::int64_t>(random() % 16)), 128, 128, 4);
    hardware.board_watts->value = 5000;
    const Prediction free = predicted(plan, hardware, point);
    hardware.board_watts->value = 350;
    const Prediction low = predicted(plan, hardware, point);
    CHECK(low.islands[1].busy_clocks == free.islands[1].busy_clocks);
    limited += low.time.clock_hz < 0.9 * free.time.clock_hz && low.islands[0].busy_clocks < free.islands[0].busy_clocks;
  }
  CHECK(limited > 0);
}

TEST_CASE("a merge block has one row and 128 columns; it waits for loads, shuffles and barriers in turn") {
  const Plan plan = load_plan_for_kernel("split_kv", data);
  HardwareProfile hardware = textbook();
  hardware.measured->l2.latency_near = {300, "M"}, hardware.measured->l2.latency_far = {500, "M"};
  hardware.measured->l2.capacity_private = {50e6, "M"}, hardware.l2_partitions.reset();
  Point point = attention(plan, 32, 8192, 128, 64, 4);
  point.workload.q_len = 2;
  const auto set_tile = [&](const char* name, std::int64_t value) {
    point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter(name))] = value;
  };
  set_tile("q", 16), set_tile("kv", 64), set_tile("splits", 4);
  CHECK(predicted(plan, hardware, point).islands[1].blocks == 8);  // eight columns a thread: eight rows a block
  set_tile("splits", 64);
  const Prediction many = predicted(plan, hardware, point);
  CHECK(many.islands[1].blocks == 64);  // 32 heads with two queries each
  const Staged stages = staged(plan, hardware, point);
  const auto waits_of = [](LaunchAtSm merge) {
    merge.rates.hbm = 1000, merge.rates.shuffle_chain = 20;
    return block_waits(merge);
  };
  const BlockWaits waits = waits_of(stages.launches[1]);
  // A lane loads 2 log-sum-exps, twice. A thread loads 16 values of O, in two groups of eight with four waits each. An
  // earlier launch wrote them. Where the L2 has one part, each line is near.
  CHECK(waits.warm == doctest::Approx((2 + 2 + 8) * 300));
  CHECK(waits.cold == doctest::Approx((2 + 8) * (1000 + 100) + 2 * 300));
  hardware.l2_partitions = {2, "M"};
  const Staged two = staged(plan, hardware, point);
  const double far = waits_of(two.launches[1]).warm;
  CHECK(far > 1.3 * waits.warm);  // of 64 blocks the one with the farthest lines
  CHECK(far <= (2 + 2 + 8) * 500);
  // Shuffles and barriers are links of the chain: a round of a block that is alone has both.
  const double alone = sm_step(stages.launches[1], 64).waits;
  hardware.measured->sync.block_barrier[4].value += 7;
  CHECK(sm_step(stages.launches[1], 64).waits - alone == doctest::Approx(2.0 * 7 / 64));  // a step of a part
}

TEST_CASE("streamed bytes start with a ramp; the host's interval is stated beside the time") {
  const LaunchTime streams{
      .clocks = 1000, .busy_clocks = 1000, .memory_seconds = 1e-6, .highest_hz = 1e9, .ramp_seconds = 2e-6};
  CHECK(streams.seconds(1e9) == doctest::Approx(3e-6));
  CHECK(streams.seconds(0.5e9) == doctest::Approx(3e-6));
  LaunchTime alike = streams;
  alike.busy_share = 0.9, alike.held = 1;
  CHECK(alike.cold_busy_clocks() == doctest::Approx(0.9 * 3000));
  alike.held = 0.5;  // half of the SMs have a block
  CHECK(alike.cold_busy_clocks() == doctest::Approx(0.45 * 3000));
  LaunchTime works = streams;
  works.clocks = works.busy_clocks = 9000;
  CHECK(works.seconds(1e9) == doctest::Approx(9e-6));
  LaunchTime nothing = streams;
  nothing.clocks = nothing.busy_clocks = 100, nothing.memory_seconds = 0;
  CHECK(nothing.seconds(1e9) == doctest::Approx(1e-7));
  const Plan plan = load_plan_for_kernel("fused_mma", data);
  HardwareProfile hardware = textbook();
  hardware.measured->launch.host_interval = {1.0, "M"};
  const TimePrediction time = predicted(plan, hardware, attention(plan, 1, 64, 64, 64, 4)).time;
  CHECK(time.host == doctest::Approx(1.0));
  CHECK(time.total < 1e-4);
}

TEST_CASE("wavefronts and instructions of products executed by threads agree with the counts on an H200") {
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
    CHECK(shared == doctest::Approx(wavefronts).epsilon(0.05));  // the counter includes a few repeats
    CHECK(threads / 32 == doctest::Approx(instructions).epsilon(0.005));
  }
}

TEST_CASE("the registers of the instance for the size limit the number of resident blocks") {
  const Plan plan = load_plan_for_kernel("reference", data);
  const HardwareProfile hardware = textbook();
  const auto resident = [&](int island, std::int64_t keys, std::int64_t head_dim) {
    Point point = attention(plan, 16, 1024, 128, 128, 4);
    point.workload.kv_len = keys, point.workload.d_qk = point.workload.d_v = head_dim;
    return predicted(plan, hardware, point).islands[static_cast<std::size_t>(island)].blocks_per_unit;
  };
  CHECK(resident(0, 1024, 64) == 2);   // 181 registers of 128 threads
  CHECK(resident(0, 1024, 128) == 3);  // 168 registers
  CHECK(resident(1, 2048, 128) == 8);  // softmax: 27 registers of 256 threads; the warps are the limit
  CHECK(resident(1, 2049, 128) == 8);
  CHECK(resident(1, 4159, 128) == 5);  // 48 registers
  CHECK(resident(1, 20000, 128) == 1);
}

TEST_CASE("data that stays in the L2 between runs shortens every run except the first") {
  const LaunchTime memory{.clocks = 1000, .busy_clocks = 1000, .memory_seconds = 5e-6, .highest_hz = 1e9};
  const LaunchTime stays{
      .clocks = 1000, .busy_clocks = 1000, .memory_seconds = 5e-6, .highest_hz = 1e9, .warm_saving = 3e-6};
  CHECK(memory.seconds(1e9) == doctest::Approx(5e-6));
  CHECK(stays.seconds(1e9) == doctest::Approx(2e-6));
  CHECK(stays.cold_seconds(1e9) == doctest::Approx(5e-6));
  const LaunchTime waits{.clocks = 9000,
                         .busy_clocks = 9000,
                         .memory_seconds = 5e-6,
                         .highest_hz = 1e9,
                         .warm_clocks = 7000};  // loads hit the L2
  CHECK(waits.seconds(1e9) == doctest::Approx(7e-6));
  CHECK(waits.cold_seconds(1e9) == doctest::Approx(9e-6));
  const Plan plan = load_plan_for_kernel("split_kv", data);
  HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  Point point = attention(plan, 8, 2048, 128, 64, 4);
  point.workload.q_len = 1, point.workload.batch = 4;
  const auto total = [&] { return predicted(plan, hardware, point).time.total; };
  const double with = total();  // 34 MB
  hardware.measured->l2.again = {{5, {33e6, "M"}}, {95, {35e6, "M"}}};
  const double partly = total();
  hardware.measured->l2.again = {{5, {10e6, "M"}}, {95, {20e6, "M"}}};
  CHECK(with < total());
  CHECK(with <= partly);
  CHECK(partly <= total());
}

TEST_CASE("tiles that a block requests before its first step arrive one after the other, beside its steps") {
  Plan plan = load_plan_for_kernel("mla_decode", data);
  HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  Point point = default_point(plan);
  point.workload = {.batch = 128, .heads_q = 64, .heads_kv = 1, .q_len = 1, .kv_len = 4096, .d_qk = 576, .d_v = 512};
  const auto cold = [&](std::int64_t stages, double step_seconds) {
    plan.kernel.islands[0].stages = stages;
    const Staged launches = staged(plan, hardware, point);
    return first_tiles(launches.launches[0], step_seconds).cold;
  };
  // Bytes of 128 blocks: of Q, and of the keys of each stage.
  const double tile = 128.0 * 64 * 576 * 2 / hardware.measured->hbm.read->value;
  CHECK(cold(1, 0) == doctest::Approx(2 * tile));
  CHECK(cold(2, 0) == doctest::Approx(3 * tile));
  CHECK(cold(2, tile / 4) == doctest::Approx(2.75 * tile));
  CHECK(cold(2, 2 * tile) == doctest::Approx(2 * tile));  // a step longer than its tile's way
}

TEST_CASE("under a mask each of the first blocks asks for the tiles with which its own rows begin") {
  // A program for the same count: every block walks its live tiles from the last one, and a set keeps what it asks for.
  const HardwareProfile hardware = find_profile("h200_sxm", data / "hardware");
  const Plan plan = load_plan_for_kernel("fused_wgmma", data);
  std::mt19937 random(17);
  const auto draw = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  int ragged = 0, fewer = 0;
  for (int round = 0; round < 40; ++round) {
    Point point = attention(plan, 2 * draw(8), 64 * draw(20) + (round % 2) * draw(63), 128, 64, 8);
    const bool window = round % 3 == 0;
    point.mask = *parse_mask(window ? "window:" + std::to_string(draw(900)) : "causal");
    point.l2 = L2Model::walk;
    const Staged stages = staged(plan, hardware, point);
    const LaunchAtSm& launch = stages.launches[0];
    const std::int64_t q_len = point.workload.q_len, heads = point.workload.heads_q,
                       tiles = ceil_div(q_len, std::int64_t{64}),
                       first = std::min(heads * tiles, 132 * launch.resident());
    const std::int64_t section = window ? 1 : heads;  // all heads' keys fit into half the L2
    std::set<std::pair<std::int64_t, std::int64_t>> asked;
    for (std::int64_t number = 0; number < first; ++number) {
      const std::int64_t head = number / (section * tiles) * section + number % section,
                         row = (tiles - 1 - number / section % tiles) * 64;
      int taken = 0;
      for (std::int64_t key = tiles - 1; key >= 0 && taken < 2; --key) {
        bool live = false;
        for (std::int64_t q = row; q < std::min(row + 64, q_len) && !live; ++q)
          for (std::int64_t k = key * 64; k < std::min(key * 64 + 64, q_len) && !live; ++k)
            live = sees(point.mask, q_len, q_len, q, k);
        if (live) asked.insert({head, key}), ++taken;
      }
    }
    double bytes = static_cast<double>(first) * 64 * 128 * 2;
    for (const auto& [head, key] : asked)
      bytes += 2 * static_cast<double>(std::min<std::int64_t>(64, q_len - key * 64)) * 128 * 2;
    CHECK(first_tiles(launch, 0).cold == doctest::Approx(bytes / hardware.measured->hbm.read->value));
    ragged += q_len % 64 != 0, fewer += std::ssize(asked) < 2 * first;
  }
  CHECK(ragged > 10);
  CHECK(fewer > 10);
}

}  // namespace step_time_sequence_test
