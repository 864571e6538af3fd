// Pointwise operators behind a product or a fold are part of its kernel: results are taken in place, and inputs of the
// epilogue are on the chip only while it runs.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/contains.h"
#include "base/text.h"
#include "derive/derivation.h"
#include "derive/test_models.h"

namespace tilescope::epilogues_test {
namespace {

Diagram epilogue_diagram(const std::string& text) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tilescope_epilogue_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file) << "schema: tilescope/diagram/1\n" << text;
  const Diagram diagram = load_diagram(file);
  std::filesystem::remove(file);
  return diagram;
}

// silu(X G) * (X U), the first half of a gated MLP.
Diagram gated_mlp() {
  return epilogue_diagram(R"(diagram: gated_mlp
summary: H = silu(X G) * (X U)
sizes: {tokens: 8192, width: 4096, hidden: 14336}
axes: {t: {size: tokens}, h: {size: width}, f: {size: hidden}}
arrays:
  X: {axes: [t, h], role: input, dtype: x}
  G: {axes: [h, f], role: input, dtype: w}
  U: {axes: [h, f], role: input, dtype: w}
  A: {axes: [t, f], role: interior, dtype: a}
  B: {axes: [t, f], role: interior, dtype: a}
  H: {axes: [t, f], role: output, dtype: a}
operators:
  - {name: gate, kind: contraction, inputs: [X, G], outputs: [A]}
  - {name: up, kind: contraction, inputs: [X, U], outputs: [B]}
  - {name: act, kind: pointwise, expression: A * sigmoid(A) * B, outputs: [H]}
)");
}

// Attention whose output is multiplied by a gate.
Diagram gated_attention() {
  return epilogue_diagram(R"(diagram: gated_attention
summary: Y = softmax(Q K^T) V * G
axes:
  {b: {size: batch}, k: {size: heads_kv}, r: {size: group}, q: {size: q_len}, x: {size: kv_len}, d: {size: d_qk},
   e: {size: d_v}}
arrays:
  Q: {axes: [b, k, r, q, d], role: input, dtype: q}
  K: {axes: [b, k, x, d], role: input, dtype: k}
  V: {axes: [b, k, x, e], role: input, dtype: v}
  G: {axes: [b, k, r, q, e], role: input, dtype: o}
  S: {axes: [b, k, r, q, x], role: interior, dtype: s}
  P: {axes: [b, k, r, q, x], role: interior, dtype: p}
  O: {axes: [b, k, r, q, e], role: interior, dtype: o}
  Y: {axes: [b, k, r, q, e], role: output, dtype: o}
operators:
  - {name: scores, kind: contraction, inputs: [Q, K], outputs: [S]}
  - {name: softmax, kind: softmax, along: x, inputs: [S], outputs: [P]}
  - {name: values, kind: contraction, inputs: [P, V], outputs: [O]}
  - {name: gate, kind: pointwise, expression: O * G, outputs: [Y]}
guard: {query: q, key: x}
)");
}

// The least traffic of a product's fused kernel, by hand: tiles of a x c results, `results` of them at a time, whose
// operands come in columns of one.
double fused_by_hand(double a, double b, double c, double memory, double results) {
  double least = std::numeric_limits<double>::infinity();
  for (double tile = 8; tile < memory; tile *= 1.001) {
    const double other = (memory - tile) / (results * tile + 1);  // results * tile * other + tile + other = memory
    if (other >= 1) least = std::min(least, a * b * c * (1 / tile + results / other));
  }
  return least + a * c;
}

Derivation derived_epilogue(const Diagram& diagram, const Workload& workload = {}) {
  const Derivation found = derive({.diagram = diagram, .workload = workload, .ranked = 5}, models());
  CHECK(join(found.errors, "; ") == "");
  REQUIRE(!found.ranked.empty());
  return found;
}

}  // namespace

TEST_CASE("the best schedule of a gated MLP is one kernel, and moves what the kernel fused by hand moves") {
  const Derivation mlp = derived_epilogue(gated_mlp());
  const double fused = fused_by_hand(8192, 4096, 14336, 116736, 2);
  CHECK(mlp.ranked.front().kernels.size() == 1);
  CHECK(mlp.ranked.front().traffic <= fused * 1.0001);
  CHECK(mlp.ranked.front().traffic == doctest::Approx(5.7615e9).epsilon(1e-4));
  // The two products apart, with A and B stored and loaded, move more.
  CHECK(mlp.ranked[1].traffic > fused + 3.9 * 8192 * 14336);
}

TEST_CASE("GELU behind a product keeps one tile of results, not both of its sides") {
  const Derivation gelu = derived_epilogue(epilogue_diagram(R"(diagram: gelu
summary: Y = gelu(A B)
sizes: {rows: 8192, inner: 8192, columns: 8192}
axes: {a: {size: rows}, b: {size: inner}, c: {size: columns}}
arrays:
  A: {axes: [a, b], role: input, dtype: a}
  B: {axes: [b, c], role: input, dtype: b}
  C: {axes: [a, c], role: interior, dtype: c}
  Y: {axes: [a, c], role: output, dtype: c}
operators:
  - {name: multiply, kind: contraction, inputs: [A, B], outputs: [C]}
  - {name: act, kind: pointwise, expression: C * sigmoid(1.702 * C), outputs: [Y]}
)"));
  const BestTiles& best = gelu.ranked.front().kernels.front().best;
  CHECK(gelu.ranked.front().kernels.size() == 1);
  CHECK(gelu.ranked.front().traffic <= fused_by_hand(8192, 8192, 8192, 116736, 1) * 1.0001);
  // A second side of 340 x 340 values would not fit beside the first.
  REQUIRE(best.tiles.size() >= 2);
  CHECK(best.tiles[0] * best.tiles[1] > 0.98 * 116736);
}

TEST_CASE("a gate on attention's output is loaded after the keys and leaves the tiles of attention as they are") {
  const Workload workload{1, 1, 1, 4096, 4096, 128, 128};
  const Derivation gated = derived_epilogue(gated_attention(), workload),
                   plain = derived_epilogue(find_diagram("attention", models()), workload);
  const RankedFusion& best = gated.ranked.front();
  REQUIRE(best.kernels.size() == 1);
  CHECK(best.traffic == doctest::Approx(11'112'489).epsilon(1e-6));
  // Attention, its gate once, and no log-sum-exps.
  CHECK(best.traffic == doctest::Approx(plain.ranked.front().traffic + 4096 * 128 - 4096).epsilon(1e-6));
}

}  // namespace tilescope::epilogues_test
