#include "poly/rational.h"

#include <cmath>

namespace tilescope {
namespace {

// The integer whose `degree`-th power is `value` >= 0, if there is one.
std::optional<std::int64_t> integer_root(std::int64_t value, std::int64_t degree) {
  if (value <= 1) return value;
  if (degree > 62) return std::nullopt;  // 2^63 does not fit
  const auto near = static_cast<std::int64_t>(std::pow(static_cast<double>(value), 1.0 / static_cast<double>(degree)));
  for (std::int64_t root = near > 1 ? near - 1 : 1; root <= near + 1; ++root) {
    std::int64_t product = 1;
    bool fits = true;
    for (std::int64_t i = 0; i < degree && fits; ++i) fits = !__builtin_mul_overflow(product, root, &product);
    if (fits && product == value) return root;
  }
  return std::nullopt;
}

}  // namespace

Rational power(const Rational& base, std::int64_t exponent) {
  if (exponent < 0) return power(Rational(1) / base, exponent == INT64_MIN ? INT64_MAX : -exponent);
  Rational result = 1, square = base;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= square;
    if (exponent > 1) square *= square;
  }
  return result;
}

std::optional<Rational> rational_power(const Rational& base, const Rational& exponent) {
  if (exponent.is_integer()) return power(base, exponent.numerator());
  if (base < 0) return std::nullopt;
  const auto numerator = integer_root(base.numerator(), exponent.denominator());
  const auto denominator = integer_root(base.denominator(), exponent.denominator());
  if (!numerator || !denominator) return std::nullopt;
  return power(Rational(*numerator, *denominator), exponent.numerator());
}

std::int64_t floor_of(const Rational& value) {
  const std::int64_t cut = value.numerator() / value.denominator();
  return value.numerator() < 0 && !value.is_integer() ? cut - 1 : cut;
}

}  // namespace tilescope
