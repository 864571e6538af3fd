// Random symbolic counts for tests.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "poly/symbols.h"

namespace tilescope {

// The same terms with positive coefficients, the scale for rounding errors of a sum.
inline Polynomial magnitude(const Polynomial& polynomial) {
  std::vector<Monomial> terms = polynomial.terms();
  for (Monomial& term : terms) term.coefficient = std::max(term.coefficient, -term.coefficient);
  return Polynomial(std::move(terms));
}

// A table of four inputs, trip counts of them, gates over those and an external; polynomials over all of it.
class RandomPolynomials {
 public:
  explicit RandomPolynomials(unsigned seed) : engine_(seed) {
    const SymbolId q = symbols.input("q_len"), x = symbols.input("kv_len");
    const SymbolId tile_q = symbols.input("tile.q"), tile_kv = symbols.input("tile.kv");
    const SymbolId q_trips = symbols.ceil_ratio(q, tile_q), kv_trips = symbols.ceil_ratio(x, tile_kv);
    const SymbolId live = symbols.external("live_tiles", Polynomial(q) * x / Monomial{2, {{tile_q, 1}, {tile_kv, 1}}});
    all = {q,
           x,
           tile_q,
           tile_kv,
           q_trips,
           kv_trips,
           symbols.gate(q_trips, {kv_trips}),
           symbols.gate(kv_trips, {q_trips, symbols.ceil_ratio(x, tile_q)}),
           live};
  }

  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }

  Polynomial polynomial(bool fractions, int most_terms = 6) {
    std::vector<Monomial> terms;
    for (auto count = between(0, most_terms); count > 0; --count) {
      Monomial term{Rational(between(-9, 9), fractions ? between(1, 4) : 1), {}};
      for (auto factors = between(0, 5); factors > 0; --factors) {
        const Rational exponent(fractions ? between(-3, 3) : between(1, 2), fractions ? between(1, 2) : 1);
        if (exponent == 0) continue;
        term =
            term *
            Monomial{
                1, {{all[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(all.size()) - 1))], exponent}}};
      }
      terms.push_back(term);
    }
    return Polynomial(std::move(terms));
  }

  Symbols symbols;
  std::vector<SymbolId> all;

 private:
  std::mt19937 engine_;
};

}  // namespace tilescope
