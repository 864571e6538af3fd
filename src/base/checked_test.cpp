#include "base/checked.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace base_checked_test {

using namespace tilescope;

TEST_CASE("a count up to 2^63 - 1 is exact, and a larger count throws") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(checked_add(largest - 1, 1) == largest);
  CHECK(checked_mul(3037000499, 3037000499) == 9223372030926249001);
  CHECK_THROWS_AS(checked_add(largest, 1), CountOverflow);
  CHECK_THROWS_AS(checked_mul(largest, 2), CountOverflow);
  CHECK_THROWS_AS(checked_mul(3037000500, 3037000500), CountOverflow);
}

TEST_CASE("division rounds up, also at the ends of the range") {
  CHECK(ceil_div(0, 7) == 0);
  CHECK(ceil_div(7, 7) == 1);
  CHECK(ceil_div(8, 7) == 2);
  CHECK(ceil_div(std::numeric_limits<std::int64_t>::max(), 2) == std::int64_t{1} << 62);
}

}  // namespace base_checked_test
