// Benchmark: exact evaluations per second of a compiled count.
#include <benchmark/benchmark.h>

#include <array>

#include "poly/program.h"

namespace tilescope {
namespace {

// Bytes FlashAttention moves: Q, O, K, V, the log-sum-exp, page indices, a key mask, a bias, and the per-tile scales of
// a quantised cache: 10 terms of up to 6 factors.
Polynomial flash_attention(Symbols& symbols) {
  const auto input = [&](const char* name) { return symbols.input(name); };
  const SymbolId batch = input("batch"), heads = input("heads_kv"), group = input("group"), q = input("q_len");
  const SymbolId x = input("kv_len"), d = input("d_qk"), e = input("d_v"), tile_q = input("tile.q"),
                 tile_kv = input("tile.kv");
  const SymbolId pack = input("tile.pack"), page = input("page");
  const SymbolId q_trips = symbols.ceil_ratio(q, tile_q), kv_trips = symbols.ceil_ratio(x, tile_kv);
  const SymbolId packs = symbols.ceil_ratio(group, pack), pages = symbols.ceil_ratio(x, page);
  const SymbolId q_gate = symbols.gate(kv_trips, {q_trips, packs});
  const auto term = [](std::initializer_list<SymbolId> factors) {
    Polynomial product = 1;
    for (const SymbolId factor : factors) product = product * factor;
    return product;
  };
  return term({batch, heads, group, q, d}) * 2 + term({batch, heads, group, q, e}) * 2 +
         term({batch, heads, packs, q_trips, x, d}) * 2 + term({batch, heads, packs, q_trips, x, e}) * 2 +
         term({batch, heads, group, q}) * 4 + term({batch, heads, packs, q_trips, pages}) * 4 +
         term({batch, packs, q_trips, x}) + term({batch, heads, group, q, x}) * 2 +
         term({batch, heads, packs, q_trips, kv_trips, d}) * 4 + term({batch, heads, packs, q_trips, q_gate, e}) * 4;
}

void exact_count(benchmark::State& state) {
  Symbols symbols;
  const std::array polynomials{flash_attention(symbols)};
  const Program program = compile(symbols, polynomials);
  std::array<std::int64_t, 11> inputs{4, 8, 4, 4096, 4096, 128, 128, 128, 64, 2, 256};
  std::array<std::int64_t, 1> bytes{};
  std::int64_t length = 0;
  for (auto _ : state) {
    inputs[3] = inputs[4] = 4096 + (++length & 1023);  // a different, ragged shape each time
    program.run(inputs, {}, bytes);
    benchmark::DoNotOptimize(bytes[0]);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["terms"] = static_cast<double>(polynomials[0].terms().size());
  state.counters["operations"] = static_cast<double>(program.operation_count());
}

BENCHMARK(exact_count);

}  // namespace
}  // namespace tilescope
