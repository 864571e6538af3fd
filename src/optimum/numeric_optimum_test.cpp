#include "optimum/numeric_optimum.h"

#include <doctest/doctest.h>

#include <cmath>

#include "optimum/variants.h"

namespace tilescope::numeric_optimum_test {
namespace {

// Sizes so large that no axis limits its tile.
Valuation unbounded(const Variants& v) {
  Valuation sizes{{v.q, 3e9}, {v.x, 5e9}, {v.d, 128}, {v.e, 96}, {v.r, 4}, {v.w, 7e7}, {v.rows, 2e9}};
  sizes[v.a] = 1e9, sizes[v.b] = 2e9, sizes[v.c] = 3e9;
  return sizes;
}

std::vector<double> powers_of_two(double first, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(std::ldexp(first, i));
  return values;
}

// Slope of log(H - constants) over log M.
double slope(Variants& v, const TileProblem& problem, const std::vector<double>& memories) {
  const Valuation sizes = unbounded(v);
  const double constants = evaluate(exact_optimum(problem, v.symbols).constants, v.symbols, sizes);
  std::vector<double> moved;
  for (const OptimumRow& row : numeric_optimum(problem, v.symbols, sizes, memories))
    moved.push_back(row.traffic - constants);
  return fit_power_law(memories, moved).slope;
}

}  // namespace

TEST_CASE("the numeric optimum and its certified bound equal the closed form of every variant") {
  const std::vector<double> memories = powers_of_two(1 << 14, 8);
  for (const auto& variant :
       {&Variants::forward, &Variants::keys_outside, &Variants::grouped_heads, &Variants::latent, &Variants::causal,
        &Variants::window, &Variants::backward, &Variants::backward_keys, &Variants::backward_queries}) {
    Variants v;
    const TileProblem problem = (v.*variant)();
    const ExactOptimum exact = exact_optimum(problem, v.symbols);
    for (const OptimumRow& row : numeric_optimum(problem, v.symbols, unbounded(v), memories)) {
      const double expected = evaluate(exact, v.symbols, unbounded(v), row.memory);
      CHECK(row.status == GeometricStatus::optimal);
      CHECK(std::abs(row.traffic / expected - 1) <= 1e-8);
      CHECK(std::abs(row.lower_bound / expected - 1) <= 1e-8);
      CHECK(row.lower_bound <= row.traffic);
    }
  }
}

TEST_CASE("the slope of log traffic over log memory is -1/2 for matmul and -1 for attention, within 1 percent") {
  Variants v;
  CHECK(std::abs(slope(v, v.matmul(), powers_of_two(1e5, 14)) / -0.5 - 1) <= 0.01);
  CHECK(std::abs(slope(v, v.forward(), powers_of_two(1e5, 14)) / -1 - 1) <= 0.01);
  TileProblem whole = v.forward();  // memory also holds softmax state, streamed keys and the scores' tile
  whole.memory = v.of(v.tile_q) * (v.d_plus_e() + 2) + v.of(v.tile_x) * v.d_plus_e() + v.of(v.tile_q) * v.tile_x;
  CHECK(std::abs(slope(v, whole, powers_of_two(1e5, 14)) / -1 - 1) <= 0.01);
  CHECK(std::abs(slope(v, whole, powers_of_two(1e3, 3)) / -1 - 1) > 0.05);  // the streamed tile uses much memory
}

TEST_CASE("matmul: the best real tiles move 1.0317, 1.0078, 1.0029 times 2abc/sqrt(M) + ac (COSMA section 5.2)") {
  Variants v;
  const Valuation sizes{{v.a, 8192}, {v.b, 8192}, {v.c, 8192}};
  const ExactOptimum bound = exact_optimum(v.matmul(), v.symbols);
  const std::vector<double> memories{1024, 16384, 116736}, published{1.0317, 1.0078, 1.0029};
  const std::vector<OptimumRow> rows = numeric_optimum(v.matmul(), v.symbols, sizes, memories);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double ratio = rows[i].traffic / evaluate(bound, v.symbols, sizes, memories[i]);
    CHECK(std::abs(ratio - published[i]) <= 0.5e-4);
    const double square = std::sqrt(memories[i] + 1) - 1, cube = std::pow(8192., 3);
    CHECK(rows[i].traffic == doctest::Approx(2 * cube / square + 8192. * 8192).epsilon(1e-9));
  }
}

TEST_CASE("grouped heads reach the minimum rq(d+e) + x(d+e) if M holds at least (d+e) r q values") {
  Variants v;
  Valuation sizes = unbounded(v);
  sizes[v.q] = 64, sizes[v.x] = 1e5;
  const double d_plus_e = 128 + 96, held = d_plus_e * 4 * 64;
  const Valuation axes{{v.tile_q, 64}, {v.pack, 4}};
  const std::vector<double> memories{held / 2, held * 1.001, held * 100};
  const auto rows = numeric_optimum(v.grouped_heads(), v.symbols, sizes, memories, axes);
  CHECK(rows[0].traffic == doctest::Approx(4 * 64 * d_plus_e + 2e5 * d_plus_e));
  for (const OptimumRow& row : {rows[1], rows[2]})
    CHECK(row.traffic == doctest::Approx(4 * 64 * d_plus_e + 1e5 * d_plus_e));
}

TEST_CASE("traffic does not increase with memory, and its minimum is the compulsory traffic") {
  Variants v;
  const Valuation sizes{{v.a, 500}, {v.b, 600}, {v.c, 700}}, axes{{v.tile_a, 500}, {v.tile_b, 600}, {v.tile_c, 700}};
  const auto rows = numeric_optimum(v.matmul(), v.symbols, sizes, powers_of_two(4, 22), axes);
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK(rows[i].traffic <= rows[i - 1].traffic * (1 + 1e-9));
  CHECK(rows.back().traffic == doctest::Approx(500 * 600 + 600 * 700 + 500 * 700));
}

TEST_CASE("without a closed form, the numeric optimum has the exponent -beta: (sqrt(Ac) + sqrt(Be))^2 / M") {
  Variants v;
  const TileProblem problem{v.trips(v.a, v.tile_a) + v.trips(v.b, v.tile_b),
                            v.of(v.tile_a) * v.d + v.of(v.tile_b) * v.e,
                            {v.tile_a, v.tile_b}};
  const std::vector<double> memories = powers_of_two(1e4, 6);
  std::vector<double> moved;
  for (const OptimumRow& row : numeric_optimum(problem, v.symbols, unbounded(v), memories)) {
    moved.push_back(row.traffic);
    const double root = std::sqrt(1e9 * 128) + std::sqrt(2e9 * 96);
    CHECK(row.traffic == doctest::Approx(root * root / row.memory).epsilon(1e-8));
  }
  const PowerFit fit = fit_power_law(memories, moved);
  CHECK(fit.slope == doctest::Approx(-exact_optimum(problem, v.symbols).beta->to_double()));
  CHECK(fit.worst_error <= 1e-7);
}

TEST_CASE("memory below the smallest tiles is infeasible, negative terms are refused") {
  Variants v;
  const std::vector<double> small{100};
  const OptimumRow row = numeric_optimum(v.forward(), v.symbols, unbounded(v), small).front();
  CHECK(row.status == GeometricStatus::infeasible);
  CHECK(std::isinf(row.traffic));
  TileProblem problem = v.forward();
  problem.traffic = problem.traffic - 1000 * v.of(v.x) * v.trips(v.q, v.tile_q);
  CHECK_THROWS_AS(numeric_optimum(problem, v.symbols, unbounded(v), small), std::domain_error);
  CHECK_THROWS_AS(numeric_optimum(v.forward(), v.symbols, unbounded(v), std::vector<double>{0}), std::invalid_argument);
}

TEST_CASE("a fit needs two memories and positive values") {
  CHECK(fit_power_law(std::vector<double>{1, 10}, std::vector<double>{5, 0.5}).slope == doctest::Approx(-1));
  CHECK(fit_power_law(std::vector<double>{1, 10}, std::vector<double>{5, 0.5}).log_alpha ==
        doctest::Approx(std::log(5)));
  CHECK_THROWS_AS(fit_power_law({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(fit_power_law(std::vector<double>{2, 2}, std::vector<double>{5, 1}), std::invalid_argument);
  CHECK_THROWS_AS(fit_power_law(std::vector<double>{1, 2}, std::vector<double>{5, 0}), std::invalid_argument);
  CHECK_THROWS_AS(fit_power_law(std::vector<double>{1, 2}, std::vector<double>{5}), std::invalid_argument);
}

}  // namespace tilescope::numeric_optimum_test
