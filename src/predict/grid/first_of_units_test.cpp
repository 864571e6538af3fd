#include "predict/grid/first_of_units.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "base/test_seed.h"

using namespace tilescope;

TEST_CASE("the first of the units is the one with the least time, of equal times the lowest number") {
  std::mt19937 random(test_seed());
  for (const std::size_t units : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{132}}) {
    FirstOfUnits first(units);
    std::vector<double> times(units, FirstOfUnits::never);
    CHECK(first.time() == FirstOfUnits::never);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t unit = random() % units;
      times[unit] = random() % 5 == 0 ? FirstOfUnits::never : static_cast<double>(random() % 20);
      first.set(unit, times[unit]);
      const auto least = std::min_element(times.begin(), times.end());
      REQUIRE(first.time() == *least);
      REQUIRE((*least == FirstOfUnits::never || first.unit() == static_cast<std::size_t>(least - times.begin())));
    }
  }
}
