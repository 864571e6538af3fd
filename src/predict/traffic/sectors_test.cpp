#include "predict/traffic/sectors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tilescope::sectors_test {

TEST_CASE("stores in whole sectors equal a walk over the addresses of every store") {
  std::mt19937 random(7);
  const auto between = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  for (int i = 0; i < 2000; ++i) {
    const int lines = between(1, 20), length = between(1, 70), segment = between(1, 20);
    std::int64_t bytes = 0;
    for (int line = 0; line < lines; ++line)
      for (int start = 0; start < length; start += segment) {
        std::set<int> sectors;
        for (int e = start; e < std::min(start + segment, length); ++e) sectors.insert((line * length + e) * 4 / 32);
        bytes += static_cast<std::int64_t>(sectors.size()) * 32;
      }
    CAPTURE(lines);
    CAPTURE(length);
    CAPTURE(segment);
    CHECK(sector_stores(lines, length, segment, 4, 32) == bytes);
  }
}

TEST_CASE("aligned full segments move exactly their bytes; each single element moves a sector") {
  CHECK(sector_stores(16, 4096, 16, 4, 32) == 16 * 4096 * 4);
  CHECK(sector_stores(256, 1, 16, 4, 32) == 256 * 32);
}

TEST_CASE("reads of a row's steps in adjacent lanes equal a walk over the address of every lane") {
  std::mt19937 random(11);
  const auto between = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  for (int i = 0; i < 2000; ++i) {
    const int steps = between(1, 300), rows = between(1, 12), lanes = between(1, 40);
    std::int64_t bytes = 0;
    for (int row = 0; row < rows; ++row)
      for (int first = 0; first < steps; first += lanes) {
        std::set<int> sectors;
        for (int step = first; step < std::min(first + lanes, steps); ++step)
          sectors.insert((step * rows + row) * 4 / 32);
        bytes += static_cast<std::int64_t>(sectors.size()) * 32;
      }
    CAPTURE(steps);
    CAPTURE(rows);
    CAPTURE(lanes);
    CHECK(strided_reads(steps, rows, lanes, 4, 32) == bytes);
  }
}

}  // namespace tilescope::sectors_test
