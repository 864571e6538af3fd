// Lower bounds: the numbers of attention.md section 7, and a check that no schedule counted here moves less.
#include "optimum/lower_bound.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/checked.h"

namespace lower_bound_test {

using namespace tilescope;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Q-stationary attention with `rows` query rows a block: 2 q d + ceil(q / rows) * 2 x d.
double stationary_values(double q, double x, double d, double rows) {
  return 2 * q * d + std::ceil(q / rows) * 2 * x * d;
}

// The best fused schedule: every row count whose queries, outputs, one key, one value and row state fit.
double best_fused(double q, double x, double d, double memory) {
  double best = kInfinity;
  for (double rows = 1; rows <= q && rows * (2 * d + 2) + 2 * d <= memory; ++rows)
    best = std::min(best, stationary_values(q, x, d, rows));
  return best;
}

// The best tiled matmul with an output tile resident, operands one slice at a time: exact integer counts.
double best_matmul(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t memory) {
  double best = kInfinity;
  for (std::int64_t a = 1; a <= m; ++a)
    for (std::int64_t b = 1; b <= n && a * b + a + b <= memory; ++b)
      best = std::min(best, static_cast<double>(m * k * ceil_div(n, b) + k * n * ceil_div(m, a) + m * n));
  return best;
}

}  // namespace

TEST_CASE("8192 x 8192 attention with 228 KiB: the lower bound is 5.92 M values, above the compulsory 4.19 M") {
  const HeadSize head{8192, 8192, 128, 128};
  const double memory = 116736;  // 228 KiB of bf16
  CHECK(attention_large_memory(head, memory).values == doctest::Approx(5.92e6).epsilon(1e-3));
  CHECK(attention_compulsory(head).values == 4.0 * 8192 * 128);  // 4.19 M
  CHECK(strongest(attention_bounds(head, memory)).values == attention_large_memory(head, memory).values);
  const double rows = std::floor(memory / (2 * 128 + 2));
  CHECK(rows == 452);
  const double stationary = stationary_values(8192, 8192, 128, rows);
  CHECK(stationary == doctest::Approx(41.9e6).epsilon(2e-3));
  CHECK(stationary / attention_large_memory(head, memory).values == doctest::Approx(7.1).epsilon(5e-3));
  CHECK(stationary_values(8192, 8192, 128, 128) == doctest::Approx(136.3e6).epsilon(1e-3));
}

// attention.md section 7 gives 117 M values for the product alone. That is COSMA's formula outside its range: a
// resident strip of rows moves less. The compulsory part, the scores once, is still more than the 41.9 M of the fused
// kernel.
TEST_CASE("fused attention moves less than the lower bound of the unfused product, which is not COSMA's formula") {
  const double m = 8192, k = 128, memory = 116736;
  const double formula = matmul_cosma({m, m, k}, memory).values, bound = matmul_bound({m, m, k}, memory).values;
  CHECK(formula == doctest::Approx(117e6).epsilon(5e-3));
  const double strip = std::floor((memory - k) / (k + 1));  // rows of A and a column of C, plus a column of B
  const double moved = m * k + std::ceil(m / strip) * m * k + m * m;
  CHECK(moved < formula);
  CHECK(moved >= bound);
  CHECK(bound > stationary_values(m, m, k, 452));
}

TEST_CASE("no fused schedule moves less than attention's lower bounds") {
  std::mt19937 engine(20261121);
  const auto between = [&](int least, int most) {
    return static_cast<double>(std::uniform_int_distribution<int>(least, most)(engine));
  };
  int beyond_compulsory = 0;
  for (int i = 0; i < 300; ++i) {
    const double q = between(1, 3000), x = between(1, 3000), d = between(1, 32),
                 memory = d * d * between(1, 6) + 4 * d + 2;
    const LowerBound bound = strongest(attention_bounds({q, x, d, d}, memory));
    CAPTURE(q);
    CAPTURE(x);
    CAPTURE(d);
    CAPTURE(memory);
    CHECK(!bound.asymptotic);
    CHECK(best_fused(q, x, d, memory) >= bound.values);
    beyond_compulsory += bound.name != "compulsory";
  }
  CHECK(beyond_compulsory > 50);
}

TEST_CASE("no tiled matmul moves less than the matmul bounds, and square tiles come near COSMA's") {
  std::mt19937 engine(20261121);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  for (int i = 0; i < 100; ++i) {
    const std::int64_t m = between(1, 60), n = between(1, 60), k = between(1, 60), memory = between(3, 900);
    const MatmulSize size{static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)};
    const double found = best_matmul(m, n, k, memory), s = static_cast<double>(memory);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(memory);
    CHECK(found >= matmul_smith_van_de_geijn(size, s).values);
    CHECK(found >= matmul_compulsory(size).values);
    // COSMA's theorem applies if the output does not fit in memory. If the output is resident, the compulsory bound
    // applies.
    if (memory <= std::min({m * n, m * k, k * n})) CHECK(found >= matmul_cosma(size, s).values);
  }
  // (sqrt(S) + 1)^2 - 1 values hold a tile of sqrt(S) x sqrt(S) and one slice of each operand (COSMA 5.2).
  CHECK(best_matmul(960, 960, 64, 33 * 33 - 1) ==
        doctest::Approx(matmul_cosma({960, 960, 64}, 33 * 33 - 1).values).epsilon(0.04));
}

TEST_CASE("below d^2 values only the asymptotic order is known, and the bound is marked as asymptotic") {
  const HeadSize head{4096, 4096, 128, 128};
  const double d2 = 128.0 * 128;
  CHECK(attention_large_memory(head, d2 / 2).values == 0);
  CHECK(attention_order(head, d2 / 4).asymptotic);
  CHECK(attention_order(head, d2 / 4).values ==
        doctest::Approx(4096.0 * 4096 * 128 / 64).epsilon(1e-13));                                   // q x d / sqrt M
  CHECK(attention_order(head, 4 * d2).values == doctest::Approx(4096.0 * 4096 / 4).epsilon(1e-13));  // q x d^2 / M
  CHECK(attention_order(head, d2).values == doctest::Approx(4096.0 * 4096).epsilon(1e-13));          // both are q x
  CHECK(strongest(attention_bounds(head, d2 / 2)).name == "compulsory");
}

TEST_CASE("a bound is never negative") {
  CHECK(attention_large_memory({16, 16, 8, 8}, 1e6).values == 0);
  CHECK(matmul_smith_van_de_geijn({4, 4, 4}, 1e6).values == 0);
  CHECK(strongest({}).values == 0);
}

}  // namespace lower_bound_test
