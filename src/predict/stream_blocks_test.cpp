#include "predict/stream_blocks.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace tilescope;

namespace {

StreamedBlocks equal_blocks(const std::vector<std::int64_t>& steps, double service, double latency) {
  StreamedBlocks blocks;
  blocks.steps = steps, blocks.service = service, blocks.latency = latency;
  blocks.step.fill(1e-12);
  return blocks;
}

// Threads that only copy, no arithmetic, measured on an H200: us from the first block's start until the last one has its
// last tile, run after run; 132 units. Every `part`-th block has `last` tiles.
struct Recorded {
  std::int64_t blocks, resident, tiles, part, last, bytes, ahead;
  double microseconds;
};
constexpr Recorded recorded[] = {{384, 3, 10, 6, 6, 16896, 3, 15.9}, {256, 2, 11, 8, 9, 33792, 2, 22.8},
                                 {256, 2, 30, 1, 30, 33792, 2, 59.5}, {240, 2, 8, 1, 8, 36864, 2, 17.9},
                                 {512, 4, 20, 1, 20, 8192, 5, 21.3},  {256, 2, 17, 2, 16, 32768, 2, 31.8},
                                 {120, 1, 11, 15, 8, 65536, 2, 19.8}};

}  // namespace

TEST_CASE("stream_blocks: one block without work waits for each tile in turn") {
  const std::vector<std::int64_t> steps{5};
  StreamedBlocks blocks = equal_blocks(steps, 3e-6, 1e-6);
  blocks.lead = 2e-6;
  CHECK(stream_blocks(blocks).seconds == doctest::Approx(2e-6 + 5 * 4e-6).epsilon(1e-6));
  blocks.ahead = 4;  // more than one on their way: latencies are hidden
  CHECK(stream_blocks(blocks).seconds <= 2e-6 + 5 * 3e-6 + 2 * 1e-6);
  CHECK(stream_blocks(blocks).seconds >= 2e-6 + 5 * 3e-6 + 1e-6 - 1e-12);
}

TEST_CASE("stream_blocks: where memory is fast, blocks of a unit share it") {
  const std::vector<std::int64_t> steps(12, 7);
  StreamedBlocks blocks = equal_blocks(steps, 0, 0);
  blocks.units = 2, blocks.resident = 3, blocks.trail = 2;
  for (std::size_t j = 0; j < blocks.step.size(); ++j) blocks.step[j] = 1e-6 * (1 + 0.5 * static_cast<double>(j));
  const Streamed all = stream_blocks(blocks);  // two waves of three a unit: nine steps each at 2 us
  CHECK(all.seconds == doctest::Approx(36e-6).epsilon(1e-6));
  CHECK(all.busy == doctest::Approx(36e-6).epsilon(1e-6));
}

TEST_CASE("stream_blocks: no faster than memory or work, and later than both where they take as long") {
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

TEST_CASE("stream_blocks: threads that only copy, as measured on an H200") {
  for (const Recorded& each : recorded) {
    std::vector<std::int64_t> steps;
    for (std::int64_t i = 0; i < each.blocks; ++i)
      steps.push_back(i % each.part == each.part - 1 ? each.last : each.tiles);
    // measured.hbm.read and measured.tma.latency_hbm of the profile
    StreamedBlocks blocks = equal_blocks(steps, static_cast<double>(each.bytes) / 4504e9, 532.3e-9);
    blocks.units = 132, blocks.resident = each.resident, blocks.ahead = each.ahead, blocks.lead = 0.5e-6;
    blocks.pieces = each.bytes / 4096;
    CAPTURE(each.blocks);
    CAPTURE(each.bytes);
    CHECK(stream_blocks(blocks).seconds * 1e6 == doctest::Approx(each.microseconds).epsilon(0.06));
  }
}
