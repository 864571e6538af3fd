// Exact rational numbers: coefficients and exponents of symbolic counts.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/checked.h"

namespace tilescope {

// numerator/denominator in lowest terms, denominator > 0, both within 2^63 - 1. An operation whose result does not fit
// throws CountOverflow; division by zero throws std::domain_error.
class Rational {
 public:
  constexpr Rational(std::int64_t value = 0) : Rational(reduced(value, 1)) {}  // NOLINT: implicit from integers
  constexpr Rational(std::int64_t numerator, std::int64_t denominator) : Rational(reduced(numerator, denominator)) {}

  constexpr std::int64_t numerator() const { return numerator_; }
  constexpr std::int64_t denominator() const { return denominator_; }
  constexpr bool is_integer() const { return denominator_ == 1; }
  constexpr double to_double() const { return static_cast<double>(numerator_) / static_cast<double>(denominator_); }

  friend constexpr Rational operator-(const Rational& a) { return reduced(-Wide{a.numerator_}, a.denominator_); }
  friend constexpr Rational operator+(const Rational& a, const Rational& b) {
    return reduced(Wide{a.numerator_} * b.denominator_ + Wide{b.numerator_} * a.denominator_,
                   Wide{a.denominator_} * b.denominator_);
  }
  friend constexpr Rational operator-(const Rational& a, const Rational& b) { return a + -b; }
  friend constexpr Rational operator*(const Rational& a, const Rational& b) {
    return reduced(Wide{a.numerator_} * b.numerator_, Wide{a.denominator_} * b.denominator_);
  }
  friend constexpr Rational operator/(const Rational& a, const Rational& b) {
    return reduced(Wide{a.numerator_} * b.denominator_, Wide{a.denominator_} * b.numerator_);
  }
  constexpr Rational& operator+=(const Rational& other) { return *this = *this + other; }
  constexpr Rational& operator-=(const Rational& other) { return *this = *this - other; }
  constexpr Rational& operator*=(const Rational& other) { return *this = *this * other; }

  friend constexpr bool operator==(const Rational&, const Rational&) = default;
  friend constexpr std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    return Wide{a.numerator_} * b.denominator_ <=> Wide{b.numerator_} * a.denominator_;
  }

 private:
  __extension__ typedef __int128 Wide;
  struct Reduced {
    std::int64_t numerator, denominator;
  };
  constexpr Rational(Reduced value) : numerator_(value.numerator), denominator_(value.denominator) {}

  // Products of two 63-bit numbers and the sum of two such products fit 127 bits, so only the result can overflow.
  static constexpr Reduced reduced(Wide numerator, Wide denominator) {
    if (denominator == 0) throw std::domain_error("division of a rational number by zero");
    Wide a = numerator < 0 ? -numerator : numerator, b = denominator < 0 ? -denominator : denominator;
    while (b != 0) {
      const Wide rest = a % b;
      a = b, b = rest;
    }
    if (denominator < 0) a = -a;
    numerator /= a, denominator /= a;
    if (numerator > INT64_MAX || numerator < -Wide{INT64_MAX} || denominator > INT64_MAX) throw CountOverflow();
    return {static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
  }

  std::int64_t numerator_ = 0, denominator_ = 1;
};

// "3/2", "-4".
inline std::string to_text(const Rational& value) {
  const std::string whole = std::to_string(value.numerator());
  return value.is_integer() ? whole : whole + '/' + std::to_string(value.denominator());
}

// base^exponent for any integer exponent; 0^0 = 1, 0^-1 throws std::domain_error.
Rational power(const Rational& base, std::int64_t exponent);

// The positive rational base^exponent when it is one (4^(1/2) = 2), else nothing.
std::optional<Rational> rational_power(const Rational& base, const Rational& exponent);

// Greatest integer not above the value.
std::int64_t floor_of(const Rational& value);

}  // namespace tilescope
