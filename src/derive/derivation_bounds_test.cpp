// Tests that deriving the largest diagrams ends within a stated time and reports that the enumeration is incomplete.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/test_seed.h"
#include "derive/derivation.h"

namespace tilescope::derivation_bounds_test {
namespace {

// Products of 15 matrices in a row: 16 axes, 29 arrays, 14 contractions.
std::string long_chain() {
  std::string axes, arrays, operators;
  for (int i = 0; i < 16; ++i) axes += fmt::format("{}a{}: {{size: m}}", i ? ", " : "", i);
  for (int i = 0; i < 15; ++i)
    arrays += fmt::format("{}X{}: {{axes: [a{}, a{}], role: input, dtype: q}}", i ? ", " : "", i, i, i + 1);
  for (int i = 1; i < 15; ++i) {
    arrays += fmt::format(", C{}: {{axes: [a0, a{}], role: {}, dtype: q}}", i, i + 1, i == 14 ? "output" : "interior");
    operators += fmt::format("  - {{name: f{0}, kind: contraction, inputs: [{1}, X{0}], outputs: [C{0}]}}\n", i,
                             i == 1 ? "X0" : fmt::format("C{}", i - 1));
  }
  return "schema: tilescope/diagram/1\ndiagram: long_chain\nsummary: 15 matrices\nsizes: {m: 8}\naxes: {" + axes +
         "}\narrays: {" + arrays + "}\noperators:\n" + operators;
}

// A map of a map of a map over all 16 axes: 32 arrays.
std::string deep_maps() {
  std::string axes, names, arrays, operators;
  for (int i = 0; i < 16; ++i)
    axes += fmt::format("{}a{}: {{size: m}}", i ? ", " : "", i), names += fmt::format("{}a{}", i ? ", " : "", i);
  for (int i = 0; i < 32; ++i) {
    arrays += fmt::format("{}A{}: {{axes: [{}], role: {}, dtype: q}}", i ? ", " : "", i, names,
                          i == 0    ? "input"
                          : i == 31 ? "output"
                                    : "interior");
    if (i > 0)
      operators +=
          fmt::format("  - {{name: f{0}, kind: pointwise, expression: A{1} + 1, outputs: [A{0}]}}\n", i, i - 1);
  }
  return "schema: tilescope/diagram/1\ndiagram: deep_maps\nsummary: 31 maps\nsizes: {m: 2}\naxes: {" + axes +
         "}\narrays: {" + arrays + "}\noperators:\n" + operators;
}

Diagram loaded(const std::string& text) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("tilescope_bounds_{}.yaml", std::hash<std::string>{}(text));
  std::ofstream(file) << text;
  Diagram diagram = load_diagram(file);
  std::filesystem::remove(file);
  return diagram;
}

}  // namespace

TEST_CASE("a diagram with the maximum number of axes and arrays is derived in bounded time") {
  for (const std::string& text : {long_chain(), deep_maps()}) {
    const Diagram diagram = loaded(text);
    CAPTURE(diagram.name);
    CHECK(diagram.axes.size() == max_axes);
    const std::clock_t start = std::clock();
    const Derivation derivation =
        derive({.diagram = diagram, .memory = 1e4, .most_fusions = 20000, .most_nests = 2500}, "nowhere");
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    MESSAGE(diagram.name << ": " << derivation.kernels_ranked << " kernels, " << derivation.nests_kept << " nests in "
                         << seconds << " s");
    CHECK(!derivation.fusions.complete);
    CHECK(derivation.nests_kept <= 2500);
    CHECK(!derivation.ranked.empty());
    if (times_are_judged) CHECK(seconds < 10);
  }
}

TEST_CASE("a derivation that may not compute all tiles is reported as incomplete") {
  const Diagram diagram = find_diagram("attention", std::string(TILESCOPE_SOURCE_DIR) + "/models");
  const Workload workload{1, 1, 1, 1024, 1024, 64, 64};
  CHECK(derive({.diagram = diagram, .workload = workload, .memory = 1e12, .ranked = 1}, "nowhere").nests_complete);
  const Derivation derivation =
      derive({.diagram = diagram, .workload = workload, .memory = 1e12, .most_nests = 100, .ranked = 1}, "nowhere");
  CHECK(!derivation.nests_complete);
  CHECK(derivation.nests_kept == 100);
}

}  // namespace tilescope::derivation_bounds_test
