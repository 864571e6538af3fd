#include "predict/grid/streamed_blocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace streamed_blocks_test {

using namespace tilescope;

namespace {

StreamedBlocks equal_blocks(const std::vector<std::int64_t>& steps, double service, double latency) {
  StreamedBlocks blocks;
  blocks.steps = steps, blocks.service = service, blocks.latency = latency;
  blocks.step.fill(1e-12);
  return blocks;
}

// Recorded on an H200 with 132 SMs, without attention. Threads copy tiles by cp.async and spin for a number of clocks
// of 1.98 GHz on each tile. The time in us is from the start of the first block until the last block has left its last
// tile. The runs are back to back. Every `part`-th block has `last` tiles.
constexpr double spins[] = {0, 1000, 1500, 2000, 3000};
struct Recorded {
  std::int64_t blocks, resident, tiles, part, last, bytes, ahead;
  double microseconds[std::size(spins)];
};
constexpr Recorded recorded[] = {{384, 3, 10, 6, 6, 16896, 3, {16.0, 17.7, 19.0, 20.6, 23.5}},
                                 {256, 2, 11, 8, 9, 33792, 2, {22.9, 24.2, 24.6, 25.4, 27.6}},
                                 {256, 2, 30, 1, 30, 33792, 2, {59.5, 60.6, 62.1, 63.5, 66.5}},
                                 {240, 2, 8, 1, 8, 36864, 2, {17.6, 19.1, 20.2, 21.4, 24.0}},
                                 {512, 4, 20, 1, 20, 8192, 5, {21.3, 24.7, 26.9, 29.0, 38.5}},
                                 {256, 2, 17, 2, 16, 32768, 2, {31.7, 33.7, 34.4, 35.8, 38.0}},
                                 {120, 1, 11, 15, 8, 65536, 2, {19.8, 21.0, 21.8, 22.9, 23.2}}};

}  // namespace

TEST_CASE("stream_blocks: one block without work waits for each tile in turn") {
  const std::vector<std::int64_t> steps{5};
  StreamedBlocks blocks = equal_blocks(steps, 3e-6, 1e-6);
  blocks.lead = 2e-6;
  CHECK(stream_blocks(blocks).seconds == doctest::Approx(2e-6 + 5 * 4e-6).epsilon(1e-6));
  blocks.ahead = 4;  // several tiles are in flight, so latencies are hidden
  CHECK(stream_blocks(blocks).seconds <= 2e-6 + 5 * 3e-6 + 2 * 1e-6);
  CHECK(stream_blocks(blocks).seconds >= 2e-6 + 5 * 3e-6 + 1e-6 - 1e-12);
}

TEST_CASE("stream_blocks: when memory is fast, the resident blocks share the SM") {
  const std::vector<std::int64_t> steps(12, 7);
  StreamedBlocks blocks = equal_blocks(steps, 0, 0);
  blocks.units = 2, blocks.resident = 3, blocks.trail = 2;
  for (std::size_t j = 0; j < blocks.step.size(); ++j) blocks.step[j] = 1e-6 * (1 + 0.5 * static_cast<double>(j));
  const Streamed all = stream_blocks(blocks);  // two waves of three blocks an SM: nine steps each at 2 us
  CHECK(all.seconds == doctest::Approx(36e-6).epsilon(1e-6));
  CHECK(all.busy == doctest::Approx(36e-6).epsilon(1e-6));
}

TEST_CASE(
    "stream_blocks: the time is at least that of memory and that of work, and longer than both when they are equal") {
  const std::vector<std::int64_t> steps(264, 12);
  StreamedBlocks blocks = equal_blocks(steps, 5e-9, 0.5e-6);
  blocks.units = 132, blocks.resident = 2, blocks.ahead = 2, blocks.pieces = 4;
  const double bytes = 264 * 12 * 5e-9;
  double before = 0;
  for (const double work : {1e-9, 0.4e-6, 0.8e-6, 1.2e-6, 2.4e-6}) {
    blocks.step.fill(work), blocks.step[0] = work / 2;
    const double seconds = stream_blocks(blocks).seconds;
    CHECK(seconds >= std::max(bytes, 12 * work) + 0.5e-6);
    CHECK(seconds >= before - 0.5e-6);
    CHECK(seconds <= bytes + 12 * work + 3 * 0.5e-6);
    before = seconds;
  }
  blocks.step.fill(1.2e-6), blocks.step[0] = 0.6e-6;
  CHECK(stream_blocks(blocks).seconds > 1.15 * std::max(bytes, 12 * 1.2e-6));
  CHECK(stream_blocks(blocks).seconds == stream_blocks(blocks).seconds);
}

TEST_CASE("stream_blocks: times of threads that copy and spin agree with those measured on an H200") {
  double sum = 0;
  for (const Recorded& each : recorded) {
    std::vector<std::int64_t> steps;
    for (std::int64_t i = 0; i < each.blocks; ++i)
      steps.push_back(i % each.part == each.part - 1 ? each.last : each.tiles);
    // measured.hbm.read and measured.tma.latency_hbm of the profile
    StreamedBlocks blocks = equal_blocks(steps, static_cast<double>(each.bytes) / 4504e9, 532.3e-9);
    blocks.units = 132, blocks.resident = each.resident, blocks.ahead = each.ahead, blocks.lead = 0.5e-6;
    blocks.pieces = each.bytes / 4096;
    for (std::size_t i = 0; i < std::size(spins); ++i) {
      blocks.step.fill(std::max(1.0, spins[i]) / 1.98e9);  // a spinning block does not slow the other blocks
      double seconds = 0;
      for (blocks.seed = 1; blocks.seed <= 4; ++blocks.seed) seconds += stream_blocks(blocks).seconds / 4;
      CAPTURE(each.blocks);
      CAPTURE(spins[i]);
      CHECK(seconds * 1e6 == doctest::Approx(each.microseconds[i]).epsilon(0.13));
      sum += std::abs(seconds * 1e6 / each.microseconds[i] - 1);
    }
  }
  CHECK(sum / static_cast<double>(std::size(recorded) * std::size(spins)) < 0.035);
}

}  // namespace streamed_blocks_test
