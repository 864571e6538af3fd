#include "kernel/describe/grid/launch_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace launch_order_test {

using namespace tilescope;

TEST_CASE("the order of a grid is among those that fit it, and no other of distinct sizes is") {
  std::mt19937 random(7);
  const auto size = [&] { return std::uniform_int_distribution<std::int64_t>(2, 50)(random); };
  const std::array<const char*, 3> names{"q", "heads", "batch"};
  for (int round = 0; round < 500; ++round) {
    const std::array<std::int64_t, 3> sizes{size(), size(), size()};
    std::array<std::size_t, 3> order{0, 1, 2};
    std::shuffle(order.begin(), order.end(), random);
    std::array<std::int64_t, 3> grid{1, 1, 1};
    const int last = std::uniform_int_distribution<int>(0, 2)(random);  // dimensions from here on share the grid's last
    for (std::size_t i = 0; i < 3; ++i)
      grid[std::min<std::size_t>(i, static_cast<std::size_t>(last))] *= sizes[order[i]];
    const std::vector<std::string> found =
        orders_that_fit(grid, {.q_tiles = sizes[0], .heads = sizes[1], .batch = sizes[2]});
    const std::string own = std::string(names[order[0]]) + ", " + names[order[1]] + ", " + names[order[2]];
    CHECK(std::count(found.begin(), found.end(), own) == 1);
    const bool distinct = sizes[0] != sizes[1] && sizes[0] != sizes[2] && sizes[1] != sizes[2];
    if (last == 2 && distinct) CHECK(found.size() == 1);
    grid[0] += 1;
    for (const std::string& order_of_other : orders_that_fit(grid, {sizes[0], sizes[1], sizes[2]})) {
      CAPTURE(order_of_other);
      CHECK(grid[0] * grid[1] * grid[2] == sizes[0] * sizes[1] * sizes[2]);
    }
  }
}

}  // namespace launch_order_test
