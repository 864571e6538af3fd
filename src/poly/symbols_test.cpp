#include "poly/symbols.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/test_seed.h"
#include "poly/random_polynomial.h"

namespace tilescope::symbols_test {

TEST_CASE("the same definition gives the same symbol") {
  Symbols symbols;
  const SymbolId q = symbols.input("q_len"), tile = symbols.input("tile.q"), x = symbols.input("kv_len");
  CHECK(symbols.input("q_len") == q);
  const SymbolId trips = symbols.ceil_ratio(q, tile), others = symbols.ceil_ratio(x, tile);
  CHECK(symbols.ceil_ratio(q, tile) == trips);
  CHECK(symbols[trips].text == "ceil(q_len/tile.q)");
  CHECK(symbols.gate(trips, {others, trips}) == trips);
  CHECK(symbols.gate(trips, {others, others}) == symbols.gate(trips, {others}));
  CHECK(symbols[symbols.gate(trips, {others})].text == "gate(ceil(q_len/tile.q); ceil(kv_len/tile.q))");
  CHECK(symbols.external("live", Polynomial(q)) == symbols.external("live", Polynomial(q)));
  CHECK(symbols.size() == 7);
}

TEST_CASE("a symbol that contradicts another or cannot be printed is refused") {
  Symbols symbols;
  const SymbolId q = symbols.input("q");
  symbols.external("live", Polynomial(q));
  CHECK_THROWS_WITH_AS(symbols.external("live", Polynomial(2)), "symbol 'live' is already defined as something else",
                       std::invalid_argument);
  CHECK_THROWS_AS(symbols.input("live"), std::invalid_argument);
  CHECK_THROWS_AS(symbols.gate(q, {}), std::invalid_argument);
  for (const char* name : {"", "a b", "ceil(q/t)", "2d", "a*b"})
    CHECK_THROWS_AS(symbols.input(name), std::invalid_argument);
  CHECK_THROWS_WITH_AS(evaluate(Polynomial(q), symbols, {}), "symbol 'q' has no value; give it one",
                       std::invalid_argument);
}

TEST_CASE("a gate equals its trip count if any of its movers has more than one trip, else 1") {
  Symbols symbols;
  const SymbolId q = symbols.input("q"), tile = symbols.input("g"), mover = symbols.input("n");
  const SymbolId gate = symbols.gate(symbols.ceil_ratio(q, tile), {mover});
  CHECK(evaluate(gate, symbols, {{q, 10}, {tile, 3}, {mover, 1}}) == 1);
  CHECK(evaluate(gate, symbols, {{q, 10}, {tile, 3}, {mover, 2}}) == 4);
  CHECK(relax(gate, symbols) == Polynomial(q) / Monomial{1, {{tile, 1}}});
}

TEST_CASE("the relaxed trip count bounds the exact one: size/tile <= ceil(size/tile) < size/tile + 1") {
  RandomPolynomials random(test_seed());
  for (int i = 0; i < 2000; ++i) {
    const Valuation values{{random.all[0], static_cast<double>(random.between(1, 5000))},
                           {random.all[2], static_cast<double>(random.between(1, 300))}};
    const Polynomial trips = random.all[4];
    const double exact = evaluate(trips, random.symbols, values);
    const double ratio = evaluate(relax(trips, random.symbols), random.symbols, values);
    CHECK(ratio <= exact);
    CHECK(exact < ratio + 1);
  }
}

TEST_CASE("a relaxed count depends on inputs only, and equals the exact count if tiles divide sizes") {
  RandomPolynomials random(test_seed());
  Symbols& symbols = random.symbols;
  const std::set<SymbolId> inputs(symbols.inputs().begin(), symbols.inputs().end());
  for (int i = 0; i < 300; ++i) {
    const Polynomial exact = random.polynomial(false), relaxed = relax(exact, symbols);
    for (const SymbolId symbol : symbols_of(relaxed)) CHECK(inputs.contains(symbol));
    // Every loop has at least two trips, so that every gate equals its trip count. The external symbol has its relaxed
    // value.
    const auto tile_q = random.between(1, 9), tile_kv = random.between(1, 9);
    const auto size = [&](std::int64_t trips) { return static_cast<double>(trips * tile_q * tile_kv); };
    Valuation values{{random.all[0], size(random.between(2, 5))},
                     {random.all[1], size(random.between(2, 5))},
                     {random.all[2], static_cast<double>(tile_q)},
                     {random.all[3], static_cast<double>(tile_kv)}};
    const SymbolId live = symbols.externals().front();
    values[live] = evaluate(symbols[live].relaxed, symbols, values);
    const double a = evaluate(exact, symbols, values), b = evaluate(relaxed, symbols, values);
    CHECK(std::abs(a - b) <= 1e-12 * evaluate(magnitude(exact), symbols, values));
  }
}

}  // namespace tilescope::symbols_test
