// Tests that an array that cancels out of every result is neither loaded nor compulsory.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "base/text.h"
#include "derive/derivation.h"
#include "derive/test_models.h"

namespace tilescope::needed_loads_test {
namespace {

Diagram diagram_of(const std::string& text) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("tilescope_loads_{}.yaml", std::hash<std::string>{}(text));
  std::ofstream(file) << text;
  Diagram diagram = load_diagram(file);
  std::filesystem::remove(file);
  return diagram;
}

// A sum over the rows of a softmax. Of the weights alone it is 1, whatever the scores are.
std::string weights_of(const std::string& guard, const std::string& expression) {
  return R"(schema: tilescope/diagram/1
diagram: weights
summary: a sum of weights
sizes: {rows: 64, columns: 64}
axes:
  q: {size: rows}
  x: {size: columns}
arrays:
  S: {axes: [q, x], role: input, dtype: s}
  B: {axes: [q], role: input, dtype: b}
  P: {axes: [q, x], role: interior, dtype: p}
  T: {axes: [q], role: output, dtype: o}
operators:
  - {name: weights, kind: softmax, along: x, inputs: [S], outputs: [P]}
  - {name: total, kind: reduction, fold: sum, over: [x], expression: )" +
         expression + R"(, outputs: [T]}
)" + guard;
}

Derivation derived(const Diagram& diagram, const Mask& mask = {}) {
  Derivation derivation =
      derive({.diagram = diagram, .workload = {1, 1, 1, 64, 64, 8, 8}, .mask = mask, .memory = 40}, models() + "/none");
  CHECK(join(derivation.errors, "; ") == "");
  REQUIRE(!derivation.ranked.empty());
  return derivation;
}

}  // namespace

TEST_CASE("scores that cancel out are not loaded: the best schedule and the compulsory values have only what remains") {
  const Derivation sum = derived(diagram_of(weights_of("", "P + B")));
  CHECK(sum.compulsory == 64 + 64);  // B and T
  CHECK(sum.ranked.front().traffic == doctest::Approx(128));
  const Derivation needed = derived(diagram_of(weights_of("", "P*P*B")));
  CHECK(needed.compulsory == 64 * 64 + 64 + 64);
}

TEST_CASE("under a mask the scores still say which rows have a key, so they are loaded") {
  const Diagram diagram = diagram_of(weights_of("guard: {query: q, key: x}\n", "P + B"));
  CHECK(derived(diagram).compulsory == 64 * 64 + 64 + 64);
  CHECK(derived(diagram, *parse_mask("causal")).ranked.front().traffic > 64 * 65 / 2);
}

}  // namespace tilescope::needed_loads_test
