#include "optimum/program/tropical.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "optimum/program/geometric_program.h"

namespace tilescope::tropical_test {
namespace {

using Rows = std::vector<std::vector<Rational>>;

Posynomial unit_terms(const Rows& rows, double log_coefficient) {
  const auto terms = static_cast<Eigen::Index>(rows.size()), tiles = static_cast<Eigen::Index>(rows[0].size());
  Posynomial result{Eigen::VectorXd::Constant(terms, log_coefficient), Eigen::MatrixXd(terms, tiles)};
  for (Eigen::Index j = 0; j < terms; ++j)
    for (Eigen::Index i = 0; i < tiles; ++i)
      result.exponents(j, i) = rows[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)].to_double();
  return result;
}

}  // namespace

TEST_CASE("linear equations are solved exactly, and underdetermined or contradictory ones are detected") {
  CHECK(solve_exactly({{2, 1, 5}, {1, -1, 1}}, 2).values == std::vector<Rational>{2, 1});
  CHECK(solve_exactly({{0, 3, 1}, {2, 0, 1}}, 2).values == std::vector<Rational>{{1, 2}, {1, 3}});
  CHECK(solve_exactly({{1, 1, 1}, {2, 2, 2}}, 2).free_unknowns == 1);
  CHECK_FALSE(solve_exactly({{1, 1, 1}, {2, 2, 3}}, 2).consistent);
  CHECK(solve_exactly({{1, 1}, {2, 2}, {3, 3}}, 1).values == std::vector<Rational>{1});
}

TEST_CASE("the exponents of matmul's tiles are 1/2, and a streamed tile has no share") {
  const auto square = best_growth({{-1, 0}, {0, -1}}, {{1, 1}, {1, 0}, {0, 1}}, 2);
  REQUIRE(square);
  CHECK(square->growth == Rational(-1, 2));
  CHECK(square->exponents == std::vector<Rational>{{1, 2}, {1, 2}});
  const auto shared =
      best_growth({{-1, -1}}, {{1, 1}, {1, 0}}, 2);  // rows times heads: any split, both terms of rows slack
  REQUIRE(shared);
  CHECK(shared->growth == -1);
  CHECK(shared->exponents[0] < 1);
  CHECK(dot({1, 1}, shared->exponents) == 1);
}

TEST_CASE("the growth of random problems is the slope of the geometric programme at huge memories") {
  std::mt19937 engine(11);
  std::uniform_int_distribution<int> counts(1, 3), falls(-2, 0), rises(0, 2);
  int compared = 0;
  for (int i = 0; i < 100; ++i) {
    const auto tiles = static_cast<std::size_t>(counts(engine));
    Rows traffic(static_cast<std::size_t>(counts(engine)), std::vector<Rational>(tiles)),
        memory(traffic.size(), traffic[0]);
    for (auto& row : traffic)
      for (Rational& exponent : row) exponent = falls(engine);
    for (auto& row : memory)
      for (Rational& exponent : row) exponent = rises(engine);
    for (std::size_t tile = 0; tile < tiles; ++tile) {  // every tile costs some memory
      memory.push_back(std::vector<Rational>(tiles, 0));
      memory.back()[tile] = 1;
    }
    const auto best = best_growth(traffic, memory, tiles);
    REQUIRE(best);
    std::vector<double> logs;
    for (const double log_memory : {100., 140.}) {
      GeometricProgram program{unit_terms(traffic, 400), {unit_terms(memory, -log_memory)}};
      program.lower = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(tiles));
      logs.push_back(std::log(solve(program).value));
    }
    CHECK((logs[1] - logs[0]) / 40 == doctest::Approx(best->growth.to_double()).epsilon(1e-6));
    ++compared;
  }
  CHECK(compared == 100);
}

TEST_CASE("a problem with too many vertices is refused") {
  const Rows traffic(30, std::vector<Rational>(6, -1)), memory(30, std::vector<Rational>(6, 1));
  CHECK_FALSE(best_growth(traffic, memory, 6));
}

}  // namespace tilescope::tropical_test
