// Folds whose state differs from their value: later folds follow from the state, results are the value.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "derive/checked.h"
#include "derive/kernel_problem.h"
#include "derive/test_models.h"
#include "program/print.h"

namespace tilescope::build_folds_test {
namespace {

struct RowFold {
  std::string name, kind, value;
};

// Folds of the rows of X, all of them results.
Diagram folds_of_rows(const std::vector<RowFold>& folds) {
  std::string arrays, operators;
  for (const RowFold& fold : folds) {
    arrays += "  " + fold.name + ": {axes: [a], role: output, dtype: l}\n";
    operators += "  - {name: fold of " + fold.name + ", kind: reduction, fold: " + fold.kind +
                 ", over: [b], expression: " + fold.value + ", outputs: [" + fold.name + "]}\n";
  }
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tilescope_build_folds_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file) << "schema: tilescope/diagram/1\ndiagram: folds\nsummary: folds of rows\n"
                         "sizes: {rows: 8, width: 16}\naxes: {a: {size: rows}, b: {size: width}}\narrays:\n"
                         "  X: {axes: [a, b], role: input, dtype: x}\n"
                      << arrays << "operators:\n"
                      << operators;
  const Diagram diagram = load_diagram(file);
  std::filesystem::remove(file);
  return diagram;
}

// The kernel of all results, with b streamed.
Schedule streamed(const Diagram& diagram) {
  const Primitives primitives = expand(primitive_diagram(expand(diagram)));
  return kernel_schedule(primitives, whole_kernel(primitives),
                         {{*diagram.find_axis("a"), Partition::group}, {*diagram.find_axis("b"), Partition::stream}});
}

}  // namespace

TEST_CASE("a mean and the variance that follows from it share the sum, and the mean is finished last") {
  const Diagram diagram = folds_of_rows({{"mu", "sum", "X / size(b)"}, {"va", "sum", "square(X - mu) / size(b)"}});
  const Schedule schedule = streamed(diagram);
  const auto built = programs_of({schedule});
  REQUIRE(std::holds_alternative<std::vector<KernelProgram>>(built));
  CHECK(to_text(std::get<std::vector<KernelProgram>>(built).front().program, schedule, {}) ==
        "parallel for each tile of a:\n"
        "  mu[a] = 0\n"
        "  va_0[a] = 0\n"
        "  for each tile of b:\n"
        "    load X[a, b]\n"
        "    mu[a] = mu + sum over b of X\n"
        "    va_0[a] = va_0 + sum over b of square(X)\n"
        "  va[a] = va_0/size(b) - square(mu)/square(size(b))\n"
        "  mu[a] = mu/size(b)\n"
        "  store mu[a]\n"
        "  store va[a]\n");
  CHECK(wrong_in(diagram, {schedule}, Mask{}) == "");
}

TEST_CASE("folds that follow from one another are finished from the last to the first") {
  for (const std::vector<RowFold>& folds :
       {std::vector<RowFold>{{"z", "sum", "exp(X) / size(b)"}, {"y", "sum", "X / z"}, {"w", "sum", "X*X*y"}},
        {{"z", "sum", "exp(X) / size(b)"}, {"y", "sum", "X / z"}, {"w", "sum", "X*X*y"}, {"v", "sum", "X*w*z"}},
        {{"m", "max", "X"},
         {"z", "sum", "exp(X - m) / size(b)"},
         {"y", "sum", "exp(X - m)*X / z"},
         {"n", "min", "X + y"}},
        {{"mu", "sum", "X / size(b)"}, {"s", "sum", "X"}, {"va", "sum", "square(X - s)"}}})
    CHECK(wrong_in(folds_of_rows(folds), {streamed(folds_of_rows(folds))}, Mask{}) == "");
}

}  // namespace tilescope::build_folds_test
