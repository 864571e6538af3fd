// Traffic and memory of one fused region at one level, as functions of its tiles.
#pragma once

#include <vector>

#include "poly/symbols.h"

namespace tilescope {

// Choose tiles >= 1 that minimise `traffic` while `memory` <= M. Both are relaxed counts (relax(), poly/polynomial.h)
// in the same unit, values or bytes; memory does not fall when a tile grows.
struct TileProblem {
  Polynomial traffic;
  Polynomial memory;
  std::vector<SymbolId> tiles;
};

struct PowersOrder {
  bool operator()(const std::vector<Power>& a, const std::vector<Power>& b) const { return powers_before(a, b); }
};

// Maps powers of tiles to their coefficient; {} holds the terms without tiles.
using TileTerms = std::map<std::vector<Power>, Polynomial, PowersOrder>;
TileTerms by_tile_powers(const Polynomial& polynomial, const std::vector<SymbolId>& tiles);

// The exponent of `tile` among `powers`, 0 when absent.
Rational exponent_of(const std::vector<Power>& powers, SymbolId tile);

}  // namespace tilescope
