// Compares sums of powers of the memory with exhaustive tile searches and with constants derived by hand.
#include "optimum/power_law.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace power_law_test {

using namespace tilescope;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

PowerLaw matmul(double a, double b, double c) { return {{2 * a * b * c, 0.5}, {a * c, 0}}; }
PowerLaw attention(double q, double x, double d) { return {{4 * x * q * d * d, 1}, {2 * q * d, 0}}; }

// Bytes of attention for one head, with g query rows resident and one key at a time. All g that fit are tried; the
// result is that of the best g.
struct Widths {
  double q, k, v, o;
};
double best_attention_bytes(double q, double x, double d, double e, const Widths& b, double memory_bytes) {
  double best = infinity;
  for (double g = 1; g <= q; ++g) {
    if (g * (b.q * d + b.o * e) + b.k * d + b.v * e > memory_bytes) break;
    best = std::min(best, q * (b.q * d + b.o * e) + x * (b.k * d + b.v * e) * q / g);
  }
  return best;
}

}  // namespace

TEST_CASE("a law without a memory limit equals the compulsory traffic") {
  CHECK(evaluate(attention(4096, 4096, 128), infinity) == 2.0 * 4096 * 128);
  CHECK(evaluate(matmul(512, 256, 128), infinity) == 512.0 * 128);
  CHECK(evaluate({}, 100) == 0);
}

TEST_CASE("a law evaluates its terms") {
  CHECK(evaluate({{8, 1}, {6, 0.5}, {3, 0}}, 4) == doctest::Approx(8.0 / 4 + 6.0 / 2 + 3).epsilon(1e-15));
}

TEST_CASE("fused and unfused attention cost the same at 0.382 d^2 values, where d / sqrt(M) is the golden ratio") {
  const double q = 4096, x = 4096, golden = (1 + std::sqrt(5.0)) / 2;
  for (const double d : {32.0, 64.0, 128.0, 256.0}) {
    const PowerLaw fused{{4 * x * q * d * d, 1}};
    const PowerLaw unfused{{4 * q * x * d, 0.5}, {4 * q * x, 0}};  // two square-tiled matmuls and the softmax
    const auto memory = crossover(fused, unfused, 1, d * d);
    REQUIRE(memory.has_value());
    CHECK(*memory / (d * d) == doctest::Approx(0.3819660113).epsilon(1e-9));
    CHECK(d / std::sqrt(*memory) == doctest::Approx(golden).epsilon(1e-12));
    CHECK(evaluate(fused, *memory / 2) > evaluate(unfused, *memory / 2));
    CHECK(evaluate(fused, *memory * 2) < evaluate(unfused, *memory * 2));
  }
  CHECK(*crossover({{4 * 128.0 * 128, 1}}, {{4 * 128.0, 0.5}, {4, 0}}, 1, 16384) ==
        doctest::Approx(6258).epsilon(1e-3));  // 6.3k values
}

TEST_CASE("two laws that do not cross have no crossover") {
  CHECK(!crossover({{2, 1}}, {{1, 1}}, 1, 1e6));
  CHECK(*crossover({{2, 1}}, {{2, 0}}, 1, 10) == 1);
}

TEST_CASE("one resident tile gives attention's and the matmul's terms") {
  const double q = 4096, x = 2048, d = 128, e = 64;
  const double streamed[] = {q * x * (d + e)};
  const PowerTerm kv = resident_tile_term(streamed, d + e);
  CHECK(kv.beta == 1);
  CHECK(kv.alpha == doctest::Approx(x * q * (d + e) * (d + e)).epsilon(1e-12));  // FlashAttention-2 forward
  const double operands[] = {512.0 * 256 * 1024, 512.0 * 256 * 1024};            // a b c / g_c and a b c / g_a
  const PowerTerm product = resident_tile_term(operands, 1);
  CHECK(product.beta == 0.5);
  CHECK(product.alpha == doctest::Approx(2 * 512.0 * 256 * 1024).epsilon(1e-12));
}

TEST_CASE("with one width q for every array, the law in bytes is the law in values times q^(1 + beta)") {
  for (const double width : {1.0, 2.0, 4.0}) {
    const double pairs = 1e6, d = 128, m = 100 * 1024;
    const double streamed[] = {pairs * 2 * d * width};
    const PowerTerm kv = resident_tile_term(streamed, 2 * d * width);
    CHECK(evaluate({kv}, m) == doctest::Approx(evaluate(in_bytes({{4 * pairs * d * d, 1}}, width), m)).epsilon(1e-12));
    const double operands[] = {3e9 * width, 3e9 * width};
    const PowerTerm product = resident_tile_term(operands, width);
    CHECK(evaluate({product}, m) == doctest::Approx(evaluate(in_bytes({{2 * 3e9, 0.5}}, width), m)).epsilon(1e-12));
  }
}

TEST_CASE("halving the width divides the keys' term by 4, the matmul's by 2.83, and the compulsory term by 2") {
  const double m = 1 << 20;
  const auto gain = [&](double beta) {
    return evaluate(in_bytes({{1, beta}}, 2), m) / evaluate(in_bytes({{1, beta}}, 1), m);
  };
  CHECK(gain(1) == doctest::Approx(4).epsilon(1e-12));
  CHECK(gain(0.5) == doctest::Approx(2.8284).epsilon(1e-4));
  CHECK(gain(0) == doctest::Approx(2).epsilon(1e-12));
}

TEST_CASE(
    "with a width for each array the keys' term is x (b_K d + b_V e) R (b_Q d + b_O e) / M, as a tile search finds") {
  const double q = 3000, x = 5000, d = 128, e = 64;
  for (const Widths& b : {Widths{2, 2, 2, 2}, Widths{2, 1, 1, 2}, Widths{1, 1, 2, 2}, Widths{2, 0.5, 0.5, 4}}) {
    const double streamed[] = {q * x * (b.k * d + b.v * e)};
    const PowerTerm term = resident_tile_term(streamed, b.q * d + b.o * e);
    CHECK(term.alpha == doctest::Approx(x * (b.k * d + b.v * e) * q * (b.q * d + b.o * e)).epsilon(1e-12));
    const PowerLaw law{term, {q * (b.q * d + b.o * e), 0}};
    for (const double memory : {64.0 * 1024, 100.0 * 1024, 227.0 * 1024}) {
      const double found = best_attention_bytes(q, x, d, e, b, memory);
      CHECK(found >= evaluate(law, memory));  // integer rows and the streamed key cost a little more
      CHECK(found <= evaluate(law, memory) * 1.03);
    }
  }
}

}  // namespace power_law_test
