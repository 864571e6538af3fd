// Inputs that only finished folds are used with are loaded at the last step of the stream that folds, as they are
// counted.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "derive/checked.h"
#include "derive/kernel_problem.h"
#include "derive/test_models.h"
#include "program/print.h"

namespace tilescope::place_loads_test {
namespace {

Diagram diagram_of(const std::string& text) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tilescope_place_loads_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file) << "schema: tilescope/diagram/1\n" << text;
  const Diagram diagram = load_diagram(file);
  std::filesystem::remove(file);
  return diagram;
}

// The kernel of all results, with these axes streamed, outermost first.
Schedule streamed(const Diagram& diagram, const std::vector<std::string>& axes) {
  const Primitives primitives = expand(primitive_diagram(expand(diagram)));
  AxisLoops loops;
  for (const std::string& axis : axes) loops.push_back({*diagram.find_axis(axis), Partition::stream});
  return kernel_schedule(primitives, whole_kernel(primitives), loops);
}

std::string program_of(const Schedule& schedule) {
  const auto built = programs_of({schedule});
  REQUIRE(std::holds_alternative<std::vector<KernelProgram>>(built));
  return to_text(std::get<std::vector<KernelProgram>>(built).front().program, schedule, {});
}

}  // namespace

TEST_CASE("an input of two products, each with its own finished fold, is loaded once") {
  const Diagram diagram = diagram_of(R"(diagram: linear_attention
summary: O = Q (K^T V) / Q (K^T 1)
sizes: {n: 16, m: 16, dk: 4, dv: 4}
axes: {q: {size: n}, x: {size: m}, d: {size: dk}, e: {size: dv}}
arrays:
  Q: {axes: [q, d], role: input, dtype: q}
  K: {axes: [x, d], role: input, dtype: k}
  V: {axes: [x, e], role: input, dtype: v}
  KV: {axes: [d, e], role: interior, dtype: acc}
  z: {axes: [d], role: interior, dtype: acc}
  N: {axes: [q, e], role: interior, dtype: o}
  Z: {axes: [q], role: interior, dtype: l}
  O: {axes: [q, e], role: output, dtype: o}
operators:
  - {name: kv, kind: contraction, inputs: [K, V], outputs: [KV]}
  - {name: zk, kind: reduction, fold: sum, over: [x], expression: K, outputs: [z]}
  - {name: nu, kind: contraction, inputs: [Q, KV], outputs: [N]}
  - {name: de, kind: contraction, inputs: [Q, z], outputs: [Z]}
  - {name: out, kind: pointwise, expression: N / Z, outputs: [O]}
)");
  const Schedule schedule = streamed(diagram, {"x", "q"});
  CHECK(program_of(schedule).find("at the last visit to KV: load Q[q, d]") != std::string::npos);
  CHECK(wrong_in(diagram, {schedule}, Mask{}, 4) == "");
}

TEST_CASE("moments that a finished fold divides are taken at the last step of its stream") {
  const Diagram diagram = diagram_of(R"(diagram: scaled_variance
summary: variance of U / z
sizes: {n: 16, m: 16, dv: 4}
axes: {q: {size: n}, x: {size: m}, e: {size: dv}}
arrays:
  R: {axes: [q, x], role: input, dtype: s}
  U: {axes: [q, e], role: input, dtype: o}
  z: {axes: [q], role: interior, dtype: l}
  mu: {axes: [q], role: interior, dtype: l}
  va: {axes: [q], role: output, dtype: l}
operators:
  - {name: zz, kind: reduction, fold: sum, over: [x], expression: R, outputs: [z]}
  - {name: mm, kind: reduction, fold: sum, over: [e], expression: U / z, outputs: [mu]}
  - {name: vv, kind: reduction, fold: sum, over: [e], expression: square(U / z - mu), outputs: [va]}
)");
  const Schedule schedule = streamed(diagram, {"q", "x", "e"});
  CHECK(program_of(schedule).find("at the last visit to z: load U[q, e]") != std::string::npos);
  CHECK(wrong_in(diagram, {schedule}, Mask{}, 4) == "");
}

}  // namespace tilescope::place_loads_test
