// Tiles that are live where a fold is streamed as several sums.
#include "derive/symbolic/columns.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "derive/checked.h"
#include "derive/kernel_problem.h"
#include "derive/symbolic/symbolic.h"
#include "derive/test_models.h"

namespace tilescope::columns_test {
namespace {

// O = weights V, of two arrays of scores and the row sum l of one of them.
Diagram weighted(const std::string& weights) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tilescope_columns_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file) << R"(schema: tilescope/diagram/1
diagram: weighted
summary: O = P V
sizes: {n: 16, m: 16, dv: 4}
axes: {q: {size: n}, x: {size: m}, e: {size: dv}}
arrays:
  A: {axes: [q, x], role: input, dtype: s}
  B: {axes: [q, x], role: input, dtype: s}
  V: {axes: [x, e], role: input, dtype: v}
  l: {axes: [q], role: interior, dtype: l}
  P: {axes: [q, x], role: interior, dtype: p}
  O: {axes: [q, e], role: output, dtype: o}
operators:
  - {name: sum, kind: reduction, fold: sum, over: [x], expression: B, outputs: [l]}
  - {name: weights, kind: pointwise, expression: )"
                      << weights
                      << ", outputs: [P]}\n  - {name: pv, kind: contraction, inputs: [P, V], outputs: [O]}\n";
  const Diagram diagram = load_diagram(file);
  std::filesystem::remove(file);
  return diagram;
}

// With every tile of rows and of e a block, and x streamed.
Schedule streamed(const Diagram& diagram) {
  const Primitives primitives = expand(primitive_diagram(expand(diagram)));
  return kernel_schedule(primitives, whole_kernel(primitives),
                         {{*diagram.find_axis("q"), Partition::group},
                          {*diagram.find_axis("e"), Partition::stream},
                          {*diagram.find_axis("x"), Partition::stream}});
}

std::vector<std::string> live_at_product(const Schedule& schedule) {
  for (const SymbolicColumn& column : symbolic(schedule).columns)
    if (column.at == "pv") return column.live;
  return {};
}

}  // namespace

TEST_CASE("a fold that is streamed as two sums holds what both are of, not their sum") {
  const Diagram two = weighted("A - B / l");
  CHECK(live_at_product(streamed(two)) == std::vector<std::string>{"A", "B", "V", "l", "O"});
  CHECK(wrong_in(two, {streamed(two)}, Mask{}, 8) == "");
  const Diagram one = weighted("(A - B) / l");
  CHECK(wrong_in(one, {streamed(one)}, Mask{}, 8) == "");
}

}  // namespace tilescope::columns_test
