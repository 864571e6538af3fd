// The relaxed traffic and memory of attention's variants, for tests. They are written by hand after Napkin (arXiv
// 2412.03317) and not derived by this program.
#pragma once

#include "optimum/exact.h"

namespace tilescope {

struct Variants {
  Symbols symbols;
  SymbolId q = symbols.input("q"), x = symbols.input("x"), d = symbols.input("d"), e = symbols.input("e");
  SymbolId r = symbols.input("r"), w = symbols.input("w"), rows = symbols.input("R");
  SymbolId a = symbols.input("a"), b = symbols.input("b"), c = symbols.input("c");
  SymbolId tile_q = symbols.input("g_q"), tile_x = symbols.input("g_x"), pack = symbols.input("g_r");
  SymbolId tile_a = symbols.input("g_a"), tile_b = symbols.input("s_b"), tile_c = symbols.input("g_c");

  Polynomial of(SymbolId symbol) const { return symbol; }
  Polynomial trips(SymbolId size, SymbolId tile) { return relax(symbols.ceil_ratio(size, tile), symbols); }
  Polynomial d_plus_e() const { return of(d) + e; }

  TileProblem matmul() {
    return {of(a) * b * trips(c, tile_c) + of(b) * c * trips(a, tile_a) + of(a) * c,
            of(tile_a) * tile_c + of(tile_a) * tile_b + of(tile_b) * tile_c,
            {tile_a, tile_b, tile_c}};
  }
  TileProblem forward() {  // FA-2: queries resident
    return {of(q) * d_plus_e() + trips(q, tile_q) * x * d_plus_e(), of(tile_q) * d_plus_e(), {tile_q, tile_x}};
  }
  TileProblem keys_outside() {  // FA-1: keys resident, O, l, m in and out
    return {of(x) * d_plus_e() + trips(x, tile_x) * q * d + (2 * trips(x, tile_x) - 1) * (of(q) * e + 2 * of(q)),
            of(tile_x) * d_plus_e(),
            {tile_q, tile_x}};
  }
  TileProblem grouped_heads() {  // GQA, one KV head, r query heads packed g_r at a time
    return {of(r) * q * d_plus_e() + trips(q, tile_q) * trips(r, pack) * x * d_plus_e(),
            of(tile_q) * pack * d_plus_e(),
            {tile_q, pack}};
  }
  TileProblem latent() {  // MLA absorbed: V is part of K
    return {of(rows) * d_plus_e() + trips(rows, tile_q) * x * d, of(tile_q) * d_plus_e(), {tile_q}};
  }
  TileProblem causal() {  // q = x, tile of keys 1: sum of live keys q(q + g)/(2g)
    const Polynomial live = trips(q, tile_q) * (of(q) + tile_q) * Rational(1, 2);
    return {of(q) * d_plus_e() + live * d_plus_e(), of(tile_q) * d_plus_e(), {tile_q}};
  }
  TileProblem window() {  // each tile of queries sees w + g keys
    return {of(q) * d_plus_e() + trips(q, tile_q) * (of(w) + tile_q) * d_plus_e(), of(tile_q) * d_plus_e(), {tile_q}};
  }
  TileProblem backward() {  // one kernel: keys resident with dK, dV; dQ read and written
    const Polynomial turns = trips(x, tile_x);
    return {2 * of(x) * d_plus_e() + turns * q * (d_plus_e() + 2) + (2 * turns - 1) * q * d,
            of(tile_x) * (2 * d_plus_e()),
            {tile_x, tile_q}};
  }
  TileProblem backward_keys() {
    return {2 * of(x) * d_plus_e() + trips(x, tile_x) * q * (d_plus_e() + 2), of(tile_x) * (2 * d_plus_e()), {tile_x}};
  }
  TileProblem backward_queries() {
    return {of(q) * (of(d) * 2 + e + 2) + trips(q, tile_q) * x * d_plus_e(), of(tile_q) * (of(d) * 2 + e), {tile_q}};
  }
};

}  // namespace tilescope
