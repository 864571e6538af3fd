#include "optimum/program/geometric_program.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "base/test_seed.h"
namespace tilescope::geometric_program_test {
namespace {

// Rows of {coefficient, exponents...}.
Posynomial posynomial(std::initializer_list<std::vector<double>> rows) {
  const auto columns = static_cast<Eigen::Index>(rows.begin()->size()) - 1;
  Posynomial result{Eigen::VectorXd(rows.size()), Eigen::MatrixXd(rows.size(), columns)};
  Eigen::Index row = 0;
  for (const std::vector<double>& numbers : rows) {
    result.log_coefficients[row] = std::log(numbers[0]);
    for (Eigen::Index i = 0; i < columns; ++i) result.exponents(row, i) = numbers[static_cast<std::size_t>(i) + 1];
    ++row;
  }
  return result;
}

double value_at(const Posynomial& posynomial, const Eigen::VectorXd& x) {
  double sum = 0;
  for (Eigen::Index j = 0; j < posynomial.log_coefficients.size(); ++j) {
    double term = std::exp(posynomial.log_coefficients[j]);
    for (Eigen::Index i = 0; i < x.size(); ++i) term *= std::pow(x[i], posynomial.exponents(j, i));
    sum += term;
  }
  return sum;
}

void check_optimal(const GeometricProgram& program, const GeometricResult& result) {
  CAPTURE(result.reason);
  CHECK(result.status == GeometricStatus::optimal);
  CHECK(result.relative_gap <= 1e-8);
  CHECK(result.lower_bound <= result.value);
  CHECK(std::abs(value_at(program.objective, result.variables) / result.value - 1) <= 1e-12);
  for (const Posynomial& constraint : program.constraints) CHECK(value_at(constraint, result.variables) <= 1 + 1e-12);
}

}  // namespace

TEST_CASE("the largest box under a wall and a floor area is found") {
  // Boyd, Kim, Vandenberghe and Hassibi, A tutorial on geometric programming, 2.4: maximise hwd with 2(hw + hd) <= 200,
  // wd <= 60, 0.5 <= h/w <= 2, 0.5 <= d/w <= 2. At the optimum wall and floor are used up: h = 100/(w + d), wd = 60,
  // so the volume 6000/(w + d) is largest at w = d = sqrt(60), where h/w = 100/120.
  const GeometricProgram box{
      posynomial({{1, -1, -1, -1}}),
      {posynomial({{0.01, 1, 1, 0}, {0.01, 1, 0, 1}}), posynomial({{1 / 60., 0, 1, 1}}), posynomial({{0.5, -1, 1, 0}}),
       posynomial({{0.5, 1, -1, 0}}), posynomial({{0.5, 0, 1, -1}}), posynomial({{0.5, 0, -1, 1}})}};
  const GeometricResult result = solve(box);
  check_optimal(box, result);
  CHECK(1 / result.value == doctest::Approx(3000 / std::sqrt(60)).epsilon(1e-8));
  CHECK(result.variables[1] == doctest::Approx(std::sqrt(60)).epsilon(1e-4));
}

TEST_CASE("matmul's tiles are square: 2abc/(sqrt(M + 1) - 1) with streamed slices one deep") {
  // COSMA (arXiv 1908.09606) section 5.2: the best tile has g^2 + 2g = M.
  for (const double memory : {64., 1024., 116736., 1e12}) {
    const double size = 8192;
    GeometricProgram matmul{posynomial({{size * size * size, -1, 0, 0}, {size * size * size, 0, -1, 0}}),
                            {posynomial({{1 / memory, 1, 1, 0}, {1 / memory, 1, 0, 1}, {1 / memory, 0, 1, 1}})}};
    matmul.lower = Eigen::VectorXd::Ones(3);
    const GeometricResult result = solve(matmul);
    check_optimal(matmul, result);
    CHECK(result.value == doctest::Approx(2 * size * size * size / (std::sqrt(memory + 1) - 1)).epsilon(1e-8));
  }
}

TEST_CASE("bounds may fix a variable, and contradictory bounds are reported") {
  GeometricProgram program{posynomial({{1, -1, -1}}), {posynomial({{0.01, 1, 1}, {0.01, 1, 0}})}};
  program.lower = Eigen::Vector2d(1, 4), program.upper = Eigen::Vector2d(1000, 4);
  const GeometricResult fixed = solve(program);
  check_optimal(program, fixed);
  CHECK(fixed.variables[0] == doctest::Approx(20).epsilon(1e-6));
  CHECK(fixed.variables[1] == doctest::Approx(4));
  program.lower = program.upper = Eigen::Vector2d(2, 4);
  CHECK(solve(program).value == doctest::Approx(1. / 8));
  program.lower = program.upper = Eigen::Vector2d(200, 4);
  CHECK(solve(program).status == GeometricStatus::infeasible);
  program.lower = Eigen::Vector2d(3, 3), program.upper = Eigen::Vector2d(2, 9);
  CHECK(solve(program).status == GeometricStatus::infeasible);
}

TEST_CASE("an infeasible programme is certified, and an unbounded programme is reported") {
  const Posynomial inverse = posynomial({{1, -1, -1}});
  const GeometricResult infeasible = solve({inverse, {posynomial({{1, 1, 0}, {1, -1, 0}})}});  // x + 1/x >= 2
  CHECK(infeasible.status == GeometricStatus::infeasible);
  CHECK(infeasible.reason.find("certified") != std::string::npos);
  const GeometricResult touching = solve({inverse, {posynomial({{0.5, 1, 0}, {0.5, -1, 0}}), posynomial({{1, 0, 1}})}});
  CAPTURE(touching.reason);
  CAPTURE(touching.steps);
  CHECK(touching.status == GeometricStatus::infeasible);
  CHECK(touching.reason.find("equality") != std::string::npos);
  CHECK(solve({inverse, {posynomial({{1, 1, 0}})}}).status == GeometricStatus::unbounded);
  CHECK(solve({inverse, {}}).status == GeometricStatus::unbounded);
  CHECK(solve({posynomial({{1, 1, -2}}), {posynomial({{1, -1, 1}})}}).status == GeometricStatus::unbounded);
}

TEST_CASE("an infimum that is not attained is the lower bound") {
  const GeometricResult result = solve({posynomial({{3, 0}, {1, -1}}), {}});  // 3 + 1/x
  CHECK(result.value == doctest::Approx(3).epsilon(1e-8));
  CHECK(result.lower_bound <= 3);
  CHECK(result.lower_bound == doctest::Approx(3).epsilon(1e-8));
}

TEST_CASE("with too few steps the bound is still valid, and the result reports it") {
  const GeometricProgram program{posynomial({{1, -1, 0}, {1, 0, -2}}), {posynomial({{0.01, 1, 0}, {0.02, 0, 1}})}};
  const GeometricResult full = solve(program), cut = solve(program, {.most_steps = 5});
  check_optimal(program, full);
  CHECK(cut.status == GeometricStatus::stopped);
  CHECK(cut.steps <= 10);
  CHECK(cut.lower_bound <= full.value);
  CHECK(cut.value >= full.lower_bound);
}

TEST_CASE("wrong shapes and coefficients are refused") {
  const Posynomial good = posynomial({{1, 1, 1}}), narrow = posynomial({{1, 1}}), zero = posynomial({{0, 1, 1}});
  CHECK_THROWS_AS(solve({good, {narrow}}), std::invalid_argument);
  CHECK_THROWS_AS(solve({zero, {}}), std::invalid_argument);
  CHECK_THROWS_AS(solve({good, {}, Eigen::VectorXd::Ones(3)}), std::invalid_argument);
  CHECK_THROWS_AS(solve({good, {}, -Eigen::VectorXd::Ones(2)}), std::invalid_argument);
  CHECK_THROWS_AS(solve({Posynomial{}, {}}), std::invalid_argument);
}

TEST_CASE("on random programmes no sampled feasible point is below the certified bound, and the gap closes") {
  const unsigned used = test_seed();
  MESSAGE("seed " << used);
  std::mt19937 engine(used);
  std::uniform_real_distribution<double> unit(0, 1);
  std::uniform_int_distribution<int> exponents(-2, 2), counts(1, 4);
  int optimal = 0, infeasible = 0;
  for (int i = 0; i < 300; ++i) {
    const Eigen::Index variables = counts(engine);
    const auto random = [&](double scale) {
      const Eigen::Index terms = counts(engine);
      Posynomial result{Eigen::VectorXd(terms), Eigen::MatrixXd(terms, variables)};
      for (Eigen::Index j = 0; j < terms; ++j) {
        result.log_coefficients[j] = std::log(scale) + 4 * unit(engine);
        for (Eigen::Index k = 0; k < variables; ++k) result.exponents(j, k) = exponents(engine);
      }
      return result;
    };
    GeometricProgram program{random(10), {random(0.02), random(0.02)}};
    program.lower = Eigen::VectorXd::Constant(variables, 0.1),
    program.upper = Eigen::VectorXd::Constant(variables, 1000);
    const GeometricResult result = solve(program);
    CAPTURE(i);
    CAPTURE(result.reason);
    CAPTURE(result.relative_gap);
    CAPTURE(result.steps);
    CHECK(result.steps <= 2 * GeometricOptions{}.most_steps);
    CHECK(result.status != GeometricStatus::unbounded);
    CHECK(result.status != GeometricStatus::stopped);
    if (result.status == GeometricStatus::optimal) check_optimal(program, result);
    (result.status == GeometricStatus::optimal ? optimal : infeasible) += 1;
    for (int sample = 0; sample < 500; ++sample) {
      Eigen::VectorXd x(variables);
      for (Eigen::Index k = 0; k < variables; ++k) x[k] = 0.1 * std::pow(1e4, unit(engine));
      if (value_at(program.constraints[0], x) > 1 || value_at(program.constraints[1], x) > 1) continue;
      CHECK(result.status == GeometricStatus::optimal);
      CHECK(value_at(program.objective, x) >= result.lower_bound);
    }
  }
  CHECK(optimal > 50);
  CHECK(infeasible > 10);
  MESSAGE(optimal << " optimal, " << infeasible << " infeasible");
}

}  // namespace tilescope::geometric_program_test
