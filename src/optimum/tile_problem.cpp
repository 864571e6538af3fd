#include "optimum/tile_problem.h"

#include <algorithm>

#include "base/contains.h"

namespace tilescope {

TileTerms by_tile_powers(const Polynomial& polynomial, const std::vector<SymbolId>& tiles) {
  TileTerms groups;
  for (const Monomial& term : polynomial.terms()) {
    std::vector<Power> of_tiles;
    Monomial rest{term.coefficient, {}};
    for (const Power& factor : term.powers) {
      const bool is_tile = contains(tiles, factor.symbol);
      (is_tile ? of_tiles : rest.powers).push_back(factor);
    }
    groups[of_tiles] += rest;
  }
  return groups;
}

Rational exponent_of(const std::vector<Power>& powers, SymbolId tile) {
  for (const Power& factor : powers)
    if (factor.symbol == tile) return factor.exponent;
  return 0;
}

}  // namespace tilescope
