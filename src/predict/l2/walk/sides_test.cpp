// Compares where blocks start with two H200s: %smid of each block, and which SMs find the lines of SM 0 near.
#include "predict/l2/walk/sides.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace tilescope::sides_test {
namespace {

std::string sides_of(std::int64_t blocks) {
  const HardwareProfile h200 = load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/h200_sxm.yaml");
  std::string text;
  for (const int side : sides_of_blocks(h200, 2, blocks)) text += side == 0 ? 'A' : 'B';
  return text.substr(0, static_cast<std::size_t>(std::min<std::int64_t>(blocks, 132)));
}
std::string run(int count, char side) { return std::string(static_cast<std::size_t>(count), side); }

}  // namespace

TEST_CASE("blocks start in the L2 partitions in which an H200 started them") {
  CHECK(sides_of(4) == "AAAA");
  CHECK(sides_of(8) == "AAAAAAAA");
  CHECK(sides_of(16) == "AAAAAAAABBAAABAB");
  CHECK(sides_of(32) == "AAAAAAAABBBBBBAAAAAAAAABBBAAABBB");
  CHECK(sides_of(64) == run(8, 'A') + run(16, 'B') + run(21, 'A') + run(7, 'B') + run(4, 'A') + run(8, 'B'));
  const std::string all = run(8, 'A') + run(32, 'B') + run(50, 'A') + run(18, 'B') + run(8, 'A') + run(16, 'B');
  CHECK(sides_of(132) == all);
  CHECK(sides_of(100000) == all);
}

TEST_CASE("SMs without a measured partition are divided about equally, without a period") {
  const HardwareProfile a100 = load_profile(std::string(TILESCOPE_SOURCE_DIR) + "/hardware/a100_sxm_80.yaml");
  const std::vector<int> sides = sides_of_blocks(a100, 2, 1000);
  REQUIRE(sides.size() == 108);
  CHECK(std::abs(static_cast<int>(std::count(sides.begin(), sides.end(), 0)) - 54) < 6);
  for (std::size_t period = 1; period < 32; ++period) {
    bool same = true;
    for (std::size_t i = 0; i + period < sides.size(); ++i) same = same && sides[i] == sides[i + period];
    CHECK_FALSE(same);
  }
}

}  // namespace tilescope::sides_test
