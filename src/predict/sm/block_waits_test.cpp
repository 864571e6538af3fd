// Tests the waits of blocks without products that all read the same few lines of the L2.
#include "predict/sm/block_waits.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "predict/described_kernel.h"
#include "predict/l2/memory_seconds.h"
#include "predict/staged.h"

namespace tilescope::block_waits_test {

TEST_CASE("the number of lines in the fullest slice is the mean over random hashes") {
  std::mt19937 random(7);
  for (const int slices : {8, 94})
    for (const int lines : {1, 4, 24, 116, 480, 3000, 9000}) {
      constexpr int draws = 400;
      double sum = 0;
      for (int draw = 0; draw < draws; ++draw) {
        std::vector<int> held(static_cast<std::size_t>(slices));
        for (int i = 0; i < lines; ++i) ++held[random() % held.size()];
        sum += *std::max_element(held.begin(), held.end());
      }
      CAPTURE(slices);
      CAPTURE(lines);
      CHECK(lines_of_fullest_slice(lines, slices) ==
            doctest::Approx(sum / draws).epsilon(lines < slices ? 0.12 : 0.05));
    }
}

TEST_CASE("warps that read sectors of few lines wait for the slice that holds most of these lines") {
  const Plan plan = load_plan_for_kernel("mla_decode", TILESCOPE_SOURCE_DIR);
  HardwareProfile hardware = h200();
  MeasuredRates& rates = *hardware.measured;
  rates.l2.read_few_lines = {32.0 * 32, "M"};  // one clock for a sector of each of 32 lines
  HardwareProfile without = hardware;
  without.measured->l2.read_few_lines = {};
  // Counts the requests of each line by walking every warp of the merge. Rows of 4-byte statistics lie side by side,
  // part after part. A block has 128 columns of a row. Each of its four warps reads the statistics of all parts of the
  // row.
  constexpr std::int64_t batch = 4, heads = 16, queries = 2, parts = 29, rows = batch * heads * queries;
  std::map<std::int64_t, std::int64_t> requests;
  for (std::int64_t row = 0; row < rows; ++row)
    for (int block = 0; block < 512 / 128; ++block)
      for (int warp = 0; warp < 4; ++warp)
        for (std::int64_t part = 0; part < parts; ++part) ++requests[(part * rows + row) * 4 / 128];
  REQUIRE(requests.size() == parts * 4);
  for (const auto& [line, count] : requests) REQUIRE(count == 512);
  Point point = point_of(plan, {batch, heads, 1, queries, 7241, 576, 512});
  point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = parts;
  const auto waits = [&](const HardwareProfile& profile) {
    const Staged stages = staged(plan, profile, point);
    return block_waits(stages.launches[1]).warm;
  };
  const double slices = static_cast<double>(hardware.l2_slices->value);
  REQUIRE(slices == 94);
  const double of_a_line = 1 / lines_of_fullest_slice(32, 94),
               served = 512 * of_a_line * lines_of_fullest_slice(116, 94);
  // The merge reads them twice: for the maximum and for the weights.
  CHECK(waits(hardware) - waits(without) == doctest::Approx(2 * (served - rates.l2.latency_far->value)));
}

TEST_CASE("a merge waits as long as its unluckiest block, whose lines lie far where home and writer are far") {
  const Plan plan = load_plan_for_kernel("split_kv", TILESCOPE_SOURCE_DIR);
  HardwareProfile hardware = h200();
  hardware.measured->l2.latency_near = {300, "M"}, hardware.measured->l2.latency_far = {500, "M"};
  std::mt19937 random(11);
  for (const std::int64_t rows : {1, 2, 8, 64})
    for (const std::int64_t parts : {40, 96, 320}) {
      Point point = point_of(plan, {1, rows, 1, 1, 64 * parts, 128, 128});
      point.tiles[static_cast<std::size_t>(plan.schedule.find_parameter("splits"))] = parts;
      const Staged stages = staged(plan, hardware, point);
      const double waits = block_waits(stages.launches[1]).warm;
      // Each wait of a thread is for two parts of 512 bytes, in 4 KiB runs with one home, by units on random sides.
      const std::int64_t groups = (parts + 3) / 4, of_thread = groups / 8 * 4 + groups % 8;
      double sum = 0;
      constexpr int draws = 200;
      for (int draw = 0; draw < draws; ++draw) {
        double most = 0;
        for (std::int64_t block = 0; block < rows; ++block) {
          double clocks = 0;
          for (std::int64_t wait = 0; wait < of_thread; ++wait) {
            bool far = false;
            const auto home = random() % 2;
            for (int part = 0; part < 2; ++part)
              far |= (rows * 512 >= 4096 ? random() % 2 : home) != 0 && random() % 2 != 0;
            clocks += far ? 500 : 300;
          }
          most = std::max(most, clocks);
        }
        sum += most;
      }
      CAPTURE(rows);
      CAPTURE(parts);
      // Log-sum-exps come before: a lane's, twice.
      const std::int64_t lane = (parts + 31) / 32, of_lane = lane / 4 + lane % 4;
      CHECK(waits > sum / draws + static_cast<double>(2 * of_lane) * 300 * 0.9);
      CHECK(waits < 1.1 * (sum / draws + static_cast<double>(2 * of_lane) * 500));
    }
}

// Measured on an H200: 512 blocks of 4 warps, 128 rows of statistics. Mean clocks of four successive readings, by the
// number of parts.
TEST_CASE(
    "waits at the busiest slice agree with measured reads of few lines on an H200; the largest error is a third") {
  const double sector = 32 * 32 / h200().measured->l2.read_few_lines->value / lines_of_fullest_slice(32, 94);
  for (const auto& [parts, clocks] : std::map<int, double>{{6, 1620}, {16, 2212}, {29, 3031}, {120, 5586}}) {
    CAPTURE(parts);
    CHECK(512 * sector * lines_of_fullest_slice(parts * 4, 94) == doctest::Approx(clocks).epsilon(0.34));
  }
}

}  // namespace tilescope::block_waits_test
