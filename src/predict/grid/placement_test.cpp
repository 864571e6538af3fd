#include "predict/grid/placement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace placement_test {

using namespace tilescope;

namespace {

BlockClocks shared(double alone, std::int64_t resident) {
  BlockClocks clocks;
  for (int j = 0; j < most_resident; ++j) clocks.step[static_cast<std::size_t>(j)] = alone * (1 + 0.5 * j);
  clocks.fixed = 3 * alone * (1 + 0.5 * static_cast<double>(resident - 1));
  return clocks;
}

// Simulates a launch in small time steps and advances every block separately.
double by_small_steps(const std::vector<std::int64_t>& steps, std::int64_t units, std::int64_t resident,
                      const BlockClocks& clocks, double dt) {
  std::vector<std::vector<double>> left(static_cast<std::size_t>(units));
  const double full = clocks.step[static_cast<std::size_t>(resident - 1)];
  std::size_t next = 0;
  const auto work = [&] { return static_cast<double>(steps[next++]) * full + clocks.fixed; };
  const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const auto fill = [&] {
    while (next < steps.size()) {
      const auto emptiest = std::min_element(left.begin(), left.end(), fewer);
      if (emptiest->size() == static_cast<std::size_t>(resident)) return;
      emptiest->push_back(work());
    }
  };
  fill();
  double time = 0;
  for (bool running = true; running; time += dt) {
    running = false;
    for (auto& unit : left) {
      if (unit.empty()) continue;
      const double pace = full / clocks.step[unit.size() - 1];
      for (double& block : unit) block -= dt * pace;
      std::erase_if(unit, [](double block) { return block <= 1e-9; });
    }
    fill();
    for (const auto& unit : left) running = running || !unit.empty();
  }
  return time - dt;
}

}  // namespace

TEST_CASE("placing equal blocks one by one takes the time of the closed form") {
  for (const std::int64_t blocks : {1, 3, 5, 10, 15, 16, 17, 40, 61})
    for (const std::int64_t resident : {1, 2, 3}) {
      const BlockClocks clocks = shared(7, resident);
      const std::vector<std::int64_t> steps(static_cast<std::size_t>(blocks), 12);
      const Placement one_by_one = place_blocks(steps, 5, resident, clocks),
                      closed = place_equal_blocks(blocks, 12, 5, resident, clocks);
      CHECK(one_by_one.clocks == doctest::Approx(closed.clocks));
      CHECK(one_by_one.busy == doctest::Approx(closed.busy));
    }
}

TEST_CASE("unequal blocks agree with a simulation in small steps of time") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::int64_t> steps(static_cast<std::size_t>(1 + random() % 40));
    for (auto& s : steps) s = static_cast<std::int64_t>(random() % 20);
    const auto units = static_cast<std::int64_t>(1 + random() % 5),
               resident = static_cast<std::int64_t>(1 + random() % 3);
    const BlockClocks clocks = shared(10, resident);
    const double exact = place_blocks(steps, units, resident, clocks).clocks;
    CHECK(by_small_steps(steps, units, resident, clocks, 0.05) == doctest::Approx(exact).epsilon(0.02));
  }
}

TEST_CASE("one long block after many short ones determines the end of the launch") {
  BlockClocks clocks;
  clocks.step.fill(1);
  std::vector<std::int64_t> steps(20, 10);
  steps.back() = 100;
  CHECK(place_blocks(steps, 4, 1, clocks).clocks == doctest::Approx(40 + 100));
  std::swap(steps.front(), steps.back());
  CHECK(place_blocks(steps, 4, 1, clocks).clocks == doctest::Approx(100));
}

TEST_CASE("a block without a step takes no time to load") {
  BlockClocks clocks;
  clocks.step.fill(10);
  clocks.fixed = 100;
  const std::vector<std::int64_t> steps{0, 0, 3};
  CHECK(place_blocks(steps, 1, 1, clocks).clocks == doctest::Approx(100 + 100 + 130));
  clocks.empty = 7;
  CHECK(place_blocks(steps, 1, 1, clocks).clocks == doctest::Approx(7 + 7 + 130));
}

TEST_CASE("a launch without blocks takes no time") {
  BlockClocks clocks;
  clocks.step.fill(1);
  CHECK(place_blocks({}, 4, 2, clocks).clocks == 0);
  CHECK(place_equal_blocks(0, 10, 4, 2, clocks).clocks == 0);
}

TEST_CASE("of two blocks on an SM the older one finishes first, and the next block starts beside the younger one") {
  BlockClocks clocks;
  clocks.step.fill(0);
  clocks.step[0] = 10, clocks.step[1] = 15;  // two blocks together do 4/3 of the work of one
  // One SM runs two blocks of 100 steps, the other two blocks of 110 steps. Two more blocks follow. With fair sharing
  // the first SM becomes free for both at once. With the oldest block first, each SM takes one.
  const std::vector<std::int64_t> steps{100, 110, 100, 110, 100, 100};
  CHECK(place_blocks(steps, 2, 2, clocks).clocks == doctest::Approx(15 * 100 + 15 * 100));
  clocks.oldest_first = 1;
  // On the second SM the older block takes 10 clocks a step and the younger 30. The older block ends at 1100. The
  // younger then has 110 - 36.7 steps left and ends at 1833.3. The sixth block starts at 1100, has 100 - 24.4 steps
  // left at 1833.3 and ends last.
  CHECK(place_blocks(steps, 2, 2, clocks).clocks == doctest::Approx(1100 + 733.33 + 755.56).epsilon(1e-4));
  // The bias does not change the work that an SM completes when all its blocks stay to the end.
  clocks.oldest_first = 0.5;
  const std::vector<std::int64_t> one{100};
  CHECK(place_blocks(one, 2, 2, clocks).clocks == doctest::Approx(1000));
}

}  // namespace placement_test
