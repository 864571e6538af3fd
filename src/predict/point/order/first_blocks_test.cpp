// Compares where blocks start with %smid of each block of spinning kernels on an H200 (173 launches, four times each).
#include "predict/point/order/first_blocks.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "predict/grid/placement.h"

namespace tilescope::first_blocks_test {
namespace {

HardwareProfile profile_of(const std::string& id) {
  return load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/" + id + ".yaml");
}

// "0:8 2:16": eight blocks on group 0, then sixteen on group 2.
std::string groups_of(const std::vector<UnitGroup>& groups, const std::vector<std::int32_t>& units) {
  std::string text;
  std::size_t last = groups.size(), count = 0;
  const auto end_run = [&] {
    if (count > 0) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", last, count);
  };
  for (const std::int32_t unit : units) {
    std::size_t group = 0;
    for (std::int64_t left = unit; left >= groups[group].units; ++group) left -= groups[group].units;
    if (group != last) end_run(), count = 0;
    last = group, ++count;
  }
  end_run();
  return text;
}

}  // namespace

TEST_CASE("the first blocks of a launch go to the SMs on which an H200 started them") {
  struct Recorded {
    std::int64_t blocks, resident, start;
    const char* groups;
  };
  const Recorded launches[] = {
      {40, 1, 6, "0:8 7:4 8:4 1:4 2:4 3:4 4:4 5:4 6:4"},
      {100, 2, 1, "0:8 2:12 3:12 4:12 5:12 6:12 7:8 8:12 1:12"},
      {198, 8, 5, "0:8 6:18 7:8 8:16 1:16 2:16 3:16 4:16 5:18 0:8 6:7 7:4 8:8 1:8 2:8 3:8 4:8 5:7"},
      {256, 2, 1, "0:8 2:16 3:16 4:16 5:18 6:18 7:8 8:16 1:16 0:8 2:15 3:15 4:15 5:16 6:16 7:8 8:16 1:15"},
      {264, 2, 2, "0:8 3:16 4:16 5:18 6:18 7:8 0:8 8:16 1:16 2:16 3:16 4:16 5:18 6:18 7:8 8:16 1:16 2:16"},
      {300, 3, 0,
       "0:8 1:16 2:16 3:16 4:16 5:18 0:8 6:18 7:8 8:16 1:16 2:16 3:16 4:16 5:18 6:18 7:8 8:16 "
       "0:8 1:4 2:4 3:3 4:3 5:3 6:3 7:4 8:4"},
      {1000, 3, 0,
       "0:8 1:16 2:16 3:16 4:16 5:18 0:8 6:18 7:8 8:16 1:16 2:16 3:16 0:8 4:16 5:18 6:18 7:8 8:16 1:16 "
       "2:16 3:16 4:16 5:18 6:18 7:8 8:16"}};
  const HardwareProfile h200 = profile_of("h200_sxm");
  for (const Recorded& launch : launches) {
    CAPTURE(launch.blocks);
    CHECK(groups_of(h200.l2_groups->value, units_of_first_blocks(h200, launch.blocks, launch.resident, launch.start)) ==
          launch.groups);
  }
}

TEST_CASE("when a group gets fewer blocks than it has SMs, its first pairs of SMs get two") {
  const HardwareProfile h200 = profile_of("h200_sxm");
  const std::vector<std::int32_t> units = units_of_first_blocks(h200, 100, 2, 1);
  // SMs 6 7 22 23 38 39 54 55 68 82 96 110; units 24 to 39 are 6 7 22 23 38 39 54 55 68 69 82 83 96 97 110 111.
  const std::vector<std::int32_t> recorded{24, 25, 26, 27, 28, 29, 30, 31, 32, 34, 36, 38};
  CHECK(std::equal(recorded.begin(), recorded.end(), units.begin() + 8));
}

TEST_CASE("every slot is filled once, for every first SM") {
  const HardwareProfile h200 = profile_of("h200_sxm");
  for (std::int64_t start = 0; start < 8; ++start)
    for (const std::int64_t blocks : {1, 131, 132, 133, 263, 396, 527, 528, 5000}) {
      const std::vector<std::int32_t> units = units_of_first_blocks(h200, blocks, 4, start);
      CHECK(std::ssize(units) == std::min<std::int64_t>(blocks, 528));
      for (std::int32_t unit = 0; unit < 132; ++unit) {
        const std::int64_t held = std::count(units.begin(), units.end(), unit), even = std::ssize(units) / 132;
        CHECK(held >= even);
        CHECK(held <= even + 1);
      }
    }
}

TEST_CASE("without a measured order, blocks are dealt to SMs round robin") {
  const HardwareProfile a100 = profile_of("a100_sxm_80");
  const std::vector<std::int32_t> units = units_of_first_blocks(a100, 1000, 2);
  REQUIRE(units.size() == 216);
  for (std::size_t i = 0; i < units.size(); ++i) CHECK(units[i] == static_cast<std::int32_t>(i % 108));
}

TEST_CASE("a launch ends with the SM that has the longest blocks") {
  // Eight query tiles have 2, 4 ... 16 steps. 256 blocks run on 132 SMs. Blocks u and u + 132 are tiles q and (q + 4) %
  // 8, so round robin gives an SM at most 24 steps. On an H200 two blocks of 16 steps (63 and 191) shared SM 47, which
  // ran longest.
  const HardwareProfile h200 = profile_of("h200_sxm");
  std::vector<std::int64_t> steps;
  for (int i = 0; i < 256; ++i) steps.push_back(2 * (i % 8 + 1));
  BlockClocks clocks;
  for (int j = 0; j < most_resident; ++j) clocks.step[static_cast<std::size_t>(j)] = 1 + j;
  CHECK(place_blocks(steps, 132, 2, clocks).clocks == doctest::Approx(24));
  const std::vector<std::int32_t> first = units_of_first_blocks(h200, 256, 2, 2);
  CHECK(first[63] == first[191]);
  CHECK(place_blocks(steps, 132, 2, clocks, first).clocks == doctest::Approx(32));
}

}  // namespace tilescope::first_blocks_test
