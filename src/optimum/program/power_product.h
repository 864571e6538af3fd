// Products of sums raised to rational powers: the coefficients of a power law, exactly.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poly/symbols.h"

namespace tilescope {

// coefficient * product of base^exponent over primes, symbols and sums, e.g. 2^(1/2)*q*x*(d + e)^2. In normal form:
// equal products compare equal as long as the numbers in them have no prime factor above 2^16 twice.
class PowerProduct {
 public:
  // Multiplies base^exponent in. The base must be positive wherever its symbols are: no negative coefficient. Else, or
  // for base 0, std::domain_error. CountOverflow as Rational.
  void multiply(const Polynomial& base, const Rational& exponent);

  // As a polynomial, when every sum has an integer power >= 0 and no root of a number is left.
  std::optional<Polynomial> expanded() const;

  double evaluate(const Symbols& symbols, const Valuation& values) const;
  std::string to_text(const Symbols& symbols) const;
  friend bool operator==(const PowerProduct&, const PowerProduct&) = default;

 private:
  struct PowerFactor {
    Polynomial base;  // two terms or more without a common factor
    Rational exponent;
    friend bool operator==(const PowerFactor&, const PowerFactor&) = default;
  };

  void multiply_number(const Rational& base, const Rational& exponent);
  void multiply_integer(std::int64_t base, const Rational& exponent);

  Monomial rational_{};                       // coefficient and powers of single symbols
  std::map<std::int64_t, Rational> roots_{};  // of numbers; exponents in (0, 1)
  std::vector<PowerFactor> factors_{};        // sorted by base
};

}  // namespace tilescope
