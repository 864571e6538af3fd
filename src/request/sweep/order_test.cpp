#include "request/sweep/order.h"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <vector>

#include "base/test_seed.h"

namespace order_test {

using namespace tilescope;

TEST_CASE("a draw takes each point at most once, all of them where it is as large as the grid, and the seed decides") {
  std::mt19937 random(test_seed());
  for (int round = 0; round < 200; ++round) {
    const std::size_t points = 1 + random() % 3000, draws = 1 + random() % 4000;
    const Draw draw{draws, random()};
    const PointOrder order(points, draw), again(points, draw);
    REQUIRE(order.size() == std::min(points, draws));
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < order.size(); ++i) {
      REQUIRE(order.point(i) < points);
      REQUIRE(order.point(i) == again.point(i));
      seen.insert(order.point(i));
    }
    REQUIRE(seen.size() == order.size());
  }
}

TEST_CASE("a draw from a large grid is spread evenly over it") {
  constexpr std::size_t points = std::size_t{1} << 50, draws = 8000, parts = 8;
  const PointOrder order(points, Draw{draws, test_seed()});
  std::vector<int> counts(parts);
  for (std::size_t i = 0; i < draws; ++i) ++counts[order.point(i) / (points / parts)];
  for (const int count : counts) CHECK(std::abs(count - 1000) < 200);  // 6.8 standard deviations
}

TEST_CASE("shards are consecutive, cover every place once and differ by at most one in size") {
  std::mt19937 random(test_seed());
  for (int round = 0; round < 500; ++round) {
    const std::size_t size = random() % 1000, of = 1 + random() % 50;
    std::size_t next = 0, least = size, most = 0;
    for (std::size_t number = 1; number <= of; ++number) {
      const Places places = places_of({number, of}, size);
      REQUIRE(places.first == next);
      next = places.end;
      least = std::min(least, places.size()), most = std::max(most, places.size());
    }
    REQUIRE(next == size);
    REQUIRE(most - least <= 1);
  }
}

}  // namespace order_test
