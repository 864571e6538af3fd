#include "draw/layout/stack.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tilescope::draw::stack_test {
namespace {

constexpr double unlimited = std::numeric_limits<double>::max();

double distance(const std::vector<Stacked>& items, const std::vector<double>& tops) {
  double sum = 0;
  for (std::size_t i = 0; i < items.size(); ++i)
    for (const double wish : items[i].wishes) sum += std::abs(tops[i] - wish);
  return sum;
}

// Best of all integer tops in a window; small integer problems have an integer optimum.
double least(const std::vector<Stacked>& items, double gap, std::size_t from, double lowest,
             std::vector<double>& tops) {
  if (from == items.size()) return distance(items, tops);
  double best = std::numeric_limits<double>::max();
  for (double top = lowest; top <= 24; ++top) {
    tops[from] = top;
    best = std::min(best, least(items, gap, from + 1, top + items[from].height + gap, tops));
  }
  return best;
}

TEST_CASE("stacked items keep order and gaps and have the least total distance from their preferred positions") {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> wish(0, 8), height(1, 3), votes(1, 3);
  for (int round = 0; round < 60; ++round) {
    std::vector<Stacked> items(4);
    for (Stacked& item : items) {
      item.height = height(random);
      for (int vote = votes(random); vote > 0; --vote) item.wishes.push_back(wish(random));
    }
    const std::vector<double> tops = stacked(items, 1, unlimited);
    for (std::size_t i = 1; i < items.size(); ++i) CHECK(tops[i] >= tops[i - 1] + items[i - 1].height + 1);
    std::vector<double> tried(4);
    CHECK(distance(items, tops) == doctest::Approx(least(items, 1, 0, -14, tried)));
  }
}

TEST_CASE("wide gaps are closed to the widest that is allowed") {
  const std::vector<double> tops = stacked({{2, {0}}, {2, {100}}, {2, {103}}}, 1, 10);
  CHECK(tops == std::vector<double>{0, 12, 15});
}

TEST_CASE("an item without a preferred position follows the item above it, and an empty list stays empty") {
  CHECK(stacked({{2, {5}}, {2, {}}}, 1, unlimited) == std::vector<double>{5, 8});
  CHECK(stacked({}, 1, unlimited).empty());
}

}  // namespace
}  // namespace tilescope::draw::stack_test
