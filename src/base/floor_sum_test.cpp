#include "base/floor_sum.h"

#include <doctest/doctest.h>

#include <random>

namespace floor_sum_test {

using namespace tilescope;

TEST_CASE("a sum of floors equals a loop that adds them one by one") {
  std::mt19937 random(11);
  const auto between = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  for (int i = 0; i < 3000; ++i) {
    const int count = between(0, 40), divisor = between(1, 30), step = between(0, 50), offset = between(0, 100);
    std::int64_t slow = 0;
    for (int k = 0; k < count; ++k) slow += (step * k + offset) / divisor;
    CAPTURE(count);
    CAPTURE(divisor);
    CAPTURE(step);
    CAPTURE(offset);
    CHECK(floor_sum(count, divisor, step, offset) == slow);
  }
}

TEST_CASE("a sum of floors that overflows is refused") {
  CHECK_THROWS_AS(floor_sum(std::int64_t{1} << 40, 1, std::int64_t{1} << 40, 0), CountOverflow);
}

}  // namespace floor_sum_test
