// Tests H*(M). An exhaustive tile search confirmed the expected coefficients.
#include "optimum/exact.h"

#include <doctest/doctest.h>

#include <cmath>

#include "optimum/variants.h"

namespace tilescope::exact_test {
namespace {

struct Expected {
  Polynomial constants, alpha;
  Rational beta;
};

void check(const Variants& v, const TileProblem& problem, const Expected& expected) {
  const ExactOptimum found = exact_optimum(problem, v.symbols);
  CAPTURE(to_text(found, v.symbols));
  REQUIRE(found.closed);
  REQUIRE(found.terms.size() == 1);
  CHECK(found.degree_of_difficulty == 0);
  CHECK(found.constants == expected.constants);
  CHECK(found.terms[0].beta == expected.beta);
  CHECK(found.beta == expected.beta);
  CHECK(found.terms[0].alpha.expanded() == expected.alpha);
}

// Coefficient of x q d^2 / M at d = e.
Rational coefficient(const Variants& v, const TileProblem& problem, const Polynomial& unit) {
  const ExactOptimum found = exact_optimum(problem, v.symbols);
  const auto leading = leading_coefficient(found.terms.at(0), {{v.e, v.d}});
  REQUIRE(leading);
  REQUIRE(leading->terms().size() == 1);
  REQUIRE(leading->terms()[0].powers == unit.terms()[0].powers);
  return leading->terms()[0].coefficient;
}

}  // namespace

TEST_CASE("matmul: H* = 2abc M^-1/2 + ac (COSMA theorem 1)") {
  Variants v;
  check(v, v.matmul(), {v.of(v.a) * v.c, 2 * v.of(v.a) * v.b * v.c, {1, 2}});
  const ExactOptimum found = exact_optimum(v.matmul(), v.symbols);
  CHECK(to_text(found, v.symbols) == "2*a*b*c*M^(-1/2) + a*c");
  CHECK(found.dropped_memory == v.of(v.tile_a) + v.tile_c);
  CHECK(evaluate(found, v.symbols, {{v.a, 10}, {v.b, 20}, {v.c, 30}}, 100) == doctest::Approx(2 * 6000 / 10. + 300));
}

TEST_CASE("attention: H* = q(d+e) + xq(d+e)^2/M, coefficient 4 at d = e") {
  Variants v;
  check(v, v.forward(), {v.of(v.q) * v.d_plus_e(), v.of(v.x) * v.q * power(v.d_plus_e(), 2), 1});
  CHECK(to_text(exact_optimum(v.forward(), v.symbols), v.symbols) == "q*x*(d + e)^2*M^-1 + q*d + q*e");
  CHECK(coefficient(v, v.forward(), v.of(v.x) * v.q * v.d * v.d) == 4);
}

TEST_CASE("keys in the outer loop (FlashAttention-1): x(d+e) + xq(d+2e+4)(d+e)/M, leading coefficient 6") {
  Variants v;
  // The leading term alone would omit the first touch of O, l and m. This count includes it.
  check(v, v.keys_outside(),
        {v.of(v.x) * v.d_plus_e() - v.of(v.q) * v.e - 2 * v.of(v.q),
         v.of(v.x) * v.q * (v.of(v.d) + 2 * v.of(v.e) + 4) * v.d_plus_e(), 1});
  CHECK(coefficient(v, v.keys_outside(), v.of(v.x) * v.q * v.d * v.d) == 6);
}

TEST_CASE("grouped heads: x rq(d+e)^2/M per KV head, for any split of the tile into rows and heads") {
  Variants v;
  check(v, v.grouped_heads(), {v.of(v.r) * v.q * v.d_plus_e(), v.of(v.x) * v.r * v.q * power(v.d_plus_e(), 2), 1});
}

TEST_CASE("absorbed MLA reads the latent once: x d R(d+e)/M") {
  Variants v;
  check(v, v.latent(), {v.of(v.rows) * v.d_plus_e(), v.of(v.x) * v.d * v.rows * v.d_plus_e(), 1});
}

TEST_CASE("causal mask: half the coefficient (2) and half a pass more: N(d+e)3/2 + N^2(d+e)^2/(2M)") {
  Variants v;
  check(v, v.causal(),
        {v.of(v.q) * v.d_plus_e() * Rational(3, 2), power(v.of(v.q) * v.d_plus_e(), 2) * Rational(1, 2), 1});
  CHECK(coefficient(v, v.causal(), v.of(v.q) * v.q * v.d * v.d) == 2);
}

TEST_CASE("a window of w keys: 2N(d+e) + Nw(d+e)^2/M") {
  Variants v;
  check(v, v.window(), {2 * v.of(v.q) * v.d_plus_e(), v.of(v.q) * v.w * power(v.d_plus_e(), 2), 1});
}

TEST_CASE("backward: coefficient 16 in one kernel, 8 + 6 in two kernels") {
  Variants v;
  const Polynomial unit = v.of(v.x) * v.q * v.d * v.d, both = 2 * v.d_plus_e();
  // The first touch of dQ, - qd, is part of the count.
  check(v, v.backward(), {v.of(v.x) * both - v.of(v.q) * v.d, v.of(v.x) * v.q * (v.of(v.d) * 3 + v.e + 2) * both, 1});
  CHECK(coefficient(v, v.backward(), unit) == 16);
  check(v, v.backward_keys(), {v.of(v.x) * both, v.of(v.x) * v.q * (v.d_plus_e() + 2) * both, 1});
  CHECK(coefficient(v, v.backward_keys(), unit) == 8);
  const Polynomial held = v.of(v.d) * 2 + v.e;
  check(v, v.backward_queries(), {v.of(v.q) * (held + 2), v.of(v.x) * v.q * v.d_plus_e() * held, 1});
  CHECK(coefficient(v, v.backward_queries(), unit) == 6);

  const ExactOptimum sum = exact_optimum(v.backward_keys(), v.symbols) + exact_optimum(v.backward_queries(), v.symbols);
  CHECK(sum.closed);
  CHECK(sum.terms.size() == 2);
  const Polynomial total =
      *leading_coefficient(sum.terms[0], {{v.e, v.d}}) + *leading_coefficient(sum.terms[1], {{v.e, v.d}});
  CHECK(total == 14 * unit);
}

TEST_CASE("small state and streamed tiles in memory do not change the leading coefficient") {
  Variants v;
  TileProblem problem = v.forward();
  problem.memory = v.of(v.tile_q) * (v.d_plus_e() + 2) + 2 * v.of(v.tile_x) * v.d_plus_e() + v.of(v.tile_q) * v.tile_x;
  const ExactOptimum found = exact_optimum(problem, v.symbols);
  CHECK(to_text(found, v.symbols) == "q*x*(d + e)*(d + e + 3)*M^-1 + q*d + q*e");
  CHECK(coefficient(v, problem, v.of(v.x) * v.q * v.d * v.d) == 4);
  CHECK(found.dropped_memory == 2 * v.d_plus_e());
}

TEST_CASE("two tiles without a common memory term have degree of difficulty 1: an exponent but no closed form") {
  Variants v;
  const TileProblem problem{v.trips(v.q, v.tile_q) * v.x + v.trips(v.x, v.tile_x) * v.q,
                            v.of(v.tile_q) * v.d + v.of(v.tile_x) * v.e,
                            {v.tile_q, v.tile_x}};
  const ExactOptimum found = exact_optimum(problem, v.symbols);
  CHECK_FALSE(found.closed);
  CHECK(found.degree_of_difficulty == 1);
  CHECK(found.beta == Rational(1));
  CHECK(found.reason == "degree of difficulty 1: no closed form, use numbers");
  CHECK_THROWS_AS(evaluate(found, v.symbols, {}, 100), std::domain_error);
}

TEST_CASE("exponents and coefficients are exact if tiles have different powers") {
  Variants v;
  // Minimise a/g + c/h with g h^2 <= M. The terms have weights 1/3 and 2/3, and memory has exponent -1/3. The result is
  // (3a)^(1/3) (3c/2)^(2/3) M^(-1/3).
  const TileProblem problem{
      v.trips(v.a, v.tile_a) + v.trips(v.c, v.tile_c), v.of(v.tile_a) * v.tile_c * v.tile_c, {v.tile_a, v.tile_c}};
  const ExactOptimum found = exact_optimum(problem, v.symbols);
  REQUIRE(found.closed);
  CHECK(found.terms[0].beta == Rational(1, 3));
  CHECK(to_text(found, v.symbols) == "3/2*a^(1/3)*c^(2/3)*2^(1/3)*M^(-1/3)");
  // By Lagrange: a/g = c/(2h) at the optimum, and g h^2 = M.
  const double a = 7, c = 11, m = 1e4, g = std::cbrt(m * 4 * a * a / (c * c)), h = std::sqrt(m / g);
  CHECK(evaluate(found, v.symbols, {{v.a, a}, {v.c, c}}, m) == doctest::Approx(a / g + c / h));
}

TEST_CASE("a problem that does not have the supported form is refused with a reason") {
  Variants v;
  TileProblem problem = v.forward();
  problem.traffic = problem.traffic - v.trips(v.q, v.tile_q);
  CHECK(exact_optimum(problem, v.symbols).reason.starts_with("traffic has a negative term that depends on a tile: "));
  problem = v.forward();
  problem.memory = v.of(v.tile_x) * v.d;
  CHECK(exact_optimum(problem, v.symbols).reason ==
        "g_q costs no memory: its best value is the whole axis, whatever M is");
  problem.memory = v.trips(v.q, v.tile_q);
  CHECK(exact_optimum(problem, v.symbols).reason == "memory has a term that is negative or falls with a tile: q/g_q");
  const TileProblem fixed{v.of(v.q) * v.tile_q, v.of(v.tile_q), {v.tile_q}};
  CHECK(to_text(exact_optimum(fixed, v.symbols), v.symbols) == "q");
}

}  // namespace tilescope::exact_test
