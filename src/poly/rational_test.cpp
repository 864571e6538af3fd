#include "poly/rational.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

namespace rational_test {

using namespace tilescope;

TEST_CASE("a rational number is kept in lowest terms with a positive denominator") {
  CHECK(Rational(6, -4) == Rational(-3, 2));
  CHECK(Rational(0, -7) == Rational(0));
  CHECK(to_text(Rational(6, 4)) == "3/2");
  CHECK(to_text(Rational(-8, 2)) == "-4");
  CHECK(Rational(1, 3) < Rational(1, 2));
  CHECK(Rational(-1, 2) < Rational(-1, 3));
  static_assert(Rational(1, 2) + Rational(1, 3) == Rational(5, 6));
}

TEST_CASE("rational arithmetic agrees with double precision on random small numbers") {
  std::mt19937 engine(7);
  std::uniform_int_distribution<std::int64_t> numerators(-60, 60), denominators(1, 40);
  for (int i = 0; i < 1000; ++i) {
    const Rational a(numerators(engine), denominators(engine)), b(numerators(engine), denominators(engine));
    CHECK((a + b).to_double() == doctest::Approx(a.to_double() + b.to_double()));
    CHECK((a * b).to_double() == doctest::Approx(a.to_double() * b.to_double()));
    CHECK((a < b) == (a.numerator() * b.denominator() < b.numerator() * a.denominator()));
    if (b != 0) CHECK(a / b * b == a);
    CHECK(static_cast<double>(floor_of(a)) == std::floor(a.to_double()));
  }
}

TEST_CASE("rational arithmetic refuses overflow and division by zero") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max(),
                         least = std::numeric_limits<std::int64_t>::min();
  CHECK(Rational(largest) - 1 + 1 == Rational(largest));
  CHECK(Rational(largest, 2) * 2 == Rational(largest));
  CHECK_THROWS_AS(Rational(largest) + 1, CountOverflow);
  CHECK_THROWS_AS(Rational(1, largest) * Rational(1, 2), CountOverflow);
  CHECK_THROWS_AS(Rational{least}, CountOverflow);
  CHECK_THROWS_AS(Rational(1, 0), std::domain_error);
  CHECK_THROWS_AS(Rational(1) / 0, std::domain_error);
  CHECK_THROWS_AS(power(Rational(0), -1), std::domain_error);
  CHECK_THROWS_AS(power(Rational(10), 40), CountOverflow);
}

TEST_CASE("a power with a rational exponent is computed exactly if the result is rational") {
  CHECK(rational_power(Rational(4, 9), Rational(1, 2)) == Rational(2, 3));
  CHECK(rational_power(Rational(8), Rational(-2, 3)) == Rational(1, 4));
  CHECK(rational_power(Rational(3037000499LL * 3037000499LL), Rational(1, 2)) == Rational(3037000499LL));
  CHECK(rational_power(Rational(2), Rational(1, 2)) == std::nullopt);
  CHECK(rational_power(Rational(-4), Rational(1, 2)) == std::nullopt);
  CHECK(rational_power(Rational(5), Rational(1, 100)) == std::nullopt);
  CHECK(power(Rational(-2, 3), 3) == Rational(-8, 27));
}

}  // namespace rational_test
