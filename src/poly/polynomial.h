// Symbolic counts: sums of rational coefficients times powers of symbols, with integer or rational exponents.
//
// A count is exact while its symbols are axis sizes, tiles and trip counts ceil(size/tile) (poly/symbols.h); relax()
// turns trip counts into ratios, which makes it a posynomial whose best tiles src/optimum finds.
// (Napkin, arXiv 2412.03317, sections 3 and 5; values, not bytes, until a width is multiplied in.)
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "poly/rational.h"

namespace tilescope {

class Symbols;
enum class SymbolId : std::int32_t {};  // position in the Symbols table that made it

struct Power {
  SymbolId symbol{};
  Rational exponent = 1;
  friend bool operator==(const Power&, const Power&) = default;
};

// coefficient * product of powers; powers sorted by symbol, no exponent 0.
struct Monomial {
  Rational coefficient = 1;
  std::vector<Power> powers{};
  friend bool operator==(const Monomial&, const Monomial&) = default;
};

Monomial operator*(const Monomial& a, const Monomial& b);

// Throws std::domain_error where the coefficient's power is not rational (2^(1/2)) or is 1/0.
Monomial power(const Monomial& base, const Rational& exponent);

// The order of terms in a polynomial: earlier symbols first, of one symbol the higher power first, the constant last.
bool powers_before(const std::vector<Power>& a, const std::vector<Power>& b);

class Polynomial {
 public:
  // The constructors from one value are implicit, so that formulas read as in mathematics.
  Polynomial() = default;                                                  // 0
  Polynomial(std::int64_t value) : Polynomial(Rational(value)) {}          // NOLINT
  Polynomial(const Rational& value) : Polynomial(Monomial{value, {}}) {}   // NOLINT
  Polynomial(SymbolId symbol) : Polynomial(Monomial{1, {{symbol, 1}}}) {}  // NOLINT
  Polynomial(Monomial term) : Polynomial(std::vector{std::move(term)}) {}  // NOLINT
  explicit Polynomial(std::vector<Monomial> terms);  // any order; like terms are merged, zeros dropped

  const std::vector<Monomial>& terms() const { return terms_; }  // sorted by powers_before, no coefficient 0
  bool is_zero() const { return terms_.empty(); }

  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator/(const Polynomial& a, const Monomial& b);  // b = 0 throws std::domain_error
  Polynomial operator-() const { return *this * Polynomial(-1); }
  Polynomial& operator+=(const Polynomial& other) { return *this = *this + other; }
  friend bool operator==(const Polynomial&, const Polynomial&) = default;

 private:
  std::vector<Monomial> terms_;
};

// Exponent >= 0 for any base; any rational exponent for a single term. Else std::domain_error.
Polynomial power(const Polynomial& base, const Rational& exponent);

// Symbols that occur directly; the symbols inside a trip count are not included.
std::set<SymbolId> symbols_of(const Polynomial& polynomial);

// Largest sum of exponents over `symbols` in any term; 0 for the zero polynomial.
Rational degree(const Polynomial& polynomial, const std::set<SymbolId>& symbols);

// The terms whose total degree over all symbols is largest: what remains when every size is large.
Polynomial top_degree_part(const Polynomial& polynomial);

// Every power of `symbol` replaced by that power of `value`; throws as power() does. Trip counts made of `symbol` keep
// it: relax first where that matters.
Polynomial substitute(const Polynomial& polynomial, SymbolId symbol, const Polynomial& value);

// "2*q_len*d_qk + ceil(q_len/tile.q)*kv_len*d_v - 1/2*a/(g_a*g_c^2)", a negative power as a division.
std::string to_text(const Polynomial& polynomial, const Symbols& symbols);

using Valuation = std::map<SymbolId, double>;

// The value in double precision. Trip counts and gates are computed from the values of inputs unless given themselves;
// an input or external without a value throws std::invalid_argument that names it.
double evaluate(const Polynomial& polynomial, const Symbols& symbols, const Valuation& values);

// Trip counts -> size/tile, gates -> their trip count, externals -> their polynomial: input symbols only.
Polynomial relax(const Polynomial& polynomial, const Symbols& symbols);

}  // namespace tilescope
