// Tests by running derived nests that their results equal those of the diagram and their transfers equal their counts.
#include "derive/checked.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/test_seed.h"
#include "base/text.h"
#include "derive/derivation.h"
#include "derive/random/random_diagrams.h"
#include "derive/random/random_nests.h"
#include "derive/test_models.h"

namespace tilescope::derive_checked_test {
namespace {

// Runs random nests of random kernels, with an axis in parts or without; returns how many there were. `wrong` takes
// what is wrong with each, or nothing.
template <class Wrong>
int run_random_nests(RandomPoints& random, const Diagram& diagram, const Mask& mask, std::size_t fusions, int kernels,
                     bool parts, Wrong wrong) {
  const Primitives primitives = primitives_of_diagram(diagram);
  const std::vector<FusedKernel> all = enumerate_fusions(primitives, {.most = fusions}).kernels;
  int ran = 0;
  for (int i = 0; i < kernels && !all.empty(); ++i) {
    const std::size_t number =
        i == 0 ? 0 : static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(all.size()) - 1));
    const FusedKernel& kernel = all[number];
    const auto loops = random_nest(random, KernelRules(primitives, kernel), parts);
    if (!loops) continue;
    if (parts != std::any_of(loops->begin(), loops->end(), [](const AxisLoop& loop) { return loop.parts; })) continue;
    const Schedule schedule = kernel_schedule(primitives, kernel, *loops);
    std::string results;
    for (const ArrayId id : kernel.region.results) results += primitives.array(id).name + " ";
    CAPTURE(diagram.name);
    CAPTURE(results);
    CAPTURE(schedule.name);
    CAPTURE(mask.text);
    wrong(wrong_in(primitive_diagram(primitives), {schedule}, mask, 2, true));
    ++ran;
  }
  return ran;
}

void check_right(const std::string& wrong) { CHECK(wrong == ""); }

// One mask of every kind that may stand at the diagram's guard.
std::vector<Mask> test_masks(const Diagram& diagram) {
  std::vector<Mask> masks{Mask{}};
  if (!diagram.guard) return masks;
  for (const char* text : {"causal", "window:2", "prefix:2"}) masks.push_back(*parse_mask(text));
  masks.push_back({.kind = MaskKind::blocks, .text = "blocks"});
  return masks;
}

std::string text_of(const Diagram& diagram) {
  std::string text;
  const auto names = [&](const std::vector<AxisId>& axes) {
    for (const AxisId axis : axes) text += diagram.axes[index(axis)].name;
  };
  for (const Array& array : diagram.arrays) text += array.name + "[", names(array.axes), text += "] ";
  for (const Operator& op : diagram.operators) {
    text += "| " + diagram.array(op.outputs.front()).name + " = " + to_string(op.kind) + " ";
    if (op.expression) text += to_text(*op.expression) + " ";
    else
      for (const ArrayId id : op.inputs) text += diagram.array(id).name + " ";
    names(op.over);
  }
  if (diagram.guard) text += "| guard ", names({diagram.guard->query, diagram.guard->key});
  return text;
}

// Folds over x, the last of a random product: factors of the row, of the folds before it and of what it folds.
Diagram random_row_factors(RandomPoints& random) {
  const auto one_of = [&](const std::vector<std::string>& of) {
    return of[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(of.size()) - 1))];
  };
  std::string product = one_of({"exp(-m)*V", "S*V", "P*V", "N*V", "V*P/l"});
  for (const char* factor : {"exp(T)", "exp(-m)", "T"})
    if (random.between(0, 2) == 0) product = random.between(0, 1) ? product + "*" + factor : factor + ("*" + product);
  const auto uses = [&](const char* name) { return product.find(name) != std::string::npos; };
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tilescope_row_factors_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file)
      << "schema: tilescope/diagram/1\ndiagram: row_factors\nsummary: " << product
      << "\nsizes: {nb: 4, n: 8, m: 8, dv: 4}\n"
         "axes: {b: {size: nb}, q: {size: n}, x: {size: m}, e: {size: dv}}\narrays:\n"
         "  A: {axes: [b, q, x], role: input, dtype: s}\n  B: {axes: [q, x], role: input, dtype: s}\n"
         "  V: {axes: [b, x, e], role: input, dtype: v}\n"
      << (uses("T") ? "  T: {axes: [q], role: input, dtype: l}\n" : "")
      << (uses("N") ? "  N: {axes: [b, q, x], role: interior, dtype: s}\n" : "")
      << "  S: {axes: [b, q, x], role: interior, dtype: s}\n  P: {axes: [b, q, x], role: interior, dtype: s}\n"
         "  m: {axes: [b, q], role: output, dtype: l}\n  l: {axes: [b, q], role: output, dtype: l}\n"
         "  O: {axes: [b, q, e], role: output, dtype: o}\noperators:\n"
         "  - {name: bias, kind: pointwise, expression: A + B, outputs: [S]}\n"
         "  - {name: first, kind: reduction, fold: "
      << one_of({"max", "min", "sum"}) << ", over: [x], expression: " << one_of({"S", "S / size(x)"})
      << ", outputs: [m]}\n  - {name: numerator, kind: pointwise, expression: exp(S - m), outputs: [P]}\n"
         "  - {name: total, kind: reduction, fold: sum, over: [x], expression: P, outputs: [l]}\n"
      << (uses("N") ? "  - {name: weights, kind: pointwise, expression: P / l, outputs: [N]}\n" : "")
      << "  - {name: last, kind: reduction, fold: " << one_of({"max", "min", "sum"}) << ", over: [x], expression: \""
      << product << "\", outputs: [O]}\n";
  const Diagram diagram = load_diagram(file);
  std::filesystem::remove(file);
  return diagram;
}

}  // namespace

TEST_CASE("random nests of every shipped diagram run under every mask") {
  RandomPoints random(test_seed());
  int ran = 0;
  for (const std::string& name : shipped_names(models() + "/diagrams")) {
    const Diagram diagram = find_diagram(name, models());
    for (const Mask& mask : test_masks(diagram))
      ran += run_random_nests(random, diagram, mask, 300, 12, false, check_right);
  }
  CHECK(ran > 250);
}

TEST_CASE("random nests with an axis in parts run under every mask and move what is counted") {
  RandomPoints random(test_seed());
  int ran = 0;
  for (const std::string& name : shipped_names(models() + "/diagrams")) {
    const Diagram diagram = find_diagram(name, models());
    for (const Mask& mask : test_masks(diagram))
      ran += run_random_nests(random, diagram, mask, 300, 40, true, check_right);
  }
  CHECK(ran > 100);
}

TEST_CASE("every named schedule runs under every mask: parts and their merge, atomic sums, running state in memory") {
  int ran = 0;
  for (const std::string& name : shipped_names(models() + "/schedules")) {
    const Schedule schedule = find_schedule(name, models());
    for (const Mask& mask : test_masks(schedule.source)) {
      CAPTURE(name);
      CAPTURE(mask.text);
      CHECK(wrong_in(schedule.source, {schedule}, mask, 4) == "");
      ++ran;
    }
  }
  CHECK(ran > 40);
}

TEST_CASE("what is ranked of every shipped diagram runs, under every mask and with mixes of formats") {
  const std::map<std::string, Rational> mixes[] = {
      {}, {{"q", 2}, {"k", 1}, {"v", 1}, {"o", 2}}, {{"q", 1}, {"k", 2}, {"v", Rational(17, 32)}, {"o", 4}, {"l", 4}}};
  const Workload workload{2, 4, 2, 512, 512, 64, 64};
  std::size_t ranked = 0, turn = 0;
  for (const std::string& name : shipped_names(models() + "/diagrams")) {
    const Diagram diagram = find_diagram(name, models());
    for (const Mask& mask : test_masks(diagram)) {
      if (mask.kind == MaskKind::blocks)
        continue;  // the relaxed count of a pattern can be less than the compulsory one
      // Every mix without a mask; under a mask one of them in turn.
      const bool all = mask.kind == MaskKind::none;
      for (std::size_t mix = 0; mix < (all ? std::size(mixes) : 1); ++mix) {
        const auto& widths = mixes[all ? mix : ++turn % std::size(mixes)];
        CAPTURE(name);
        CAPTURE(mask.text);
        const Derivation derivation = derive({.diagram = diagram,
                                              .workload = workload,
                                              .mask = mask,
                                              .memory = 30000,
                                              .widths = widths,
                                              .most_fusions = 200,
                                              .most_nests = 60,
                                              .ranked = 3},
                                             models() + "/none");
        CHECK(join(derivation.errors, "; ") == "");
        CHECK(!derivation.ranked.empty());
        ranked += derivation.ranked.size();
      }
    }
  }
  CHECK(ranked >= 80);
}

TEST_CASE("nests of 2,000 random diagrams run, and those with an axis in parts") {
  RandomPoints random(test_seed());
  int ran = 0, in_parts = 0;
  for (int i = 0; i < 2000; ++i) {
    const Diagram diagram = RandomDiagram(random).run();
    const std::vector<Mask> masks = test_masks(diagram);
    const Mask& mask = masks[static_cast<std::size_t>(i) % masks.size()];
    CAPTURE(i);
    CAPTURE(text_of(diagram));
    ran += run_random_nests(random, diagram, mask, 40, 1, false, check_right);
    if (i % 4 == 0) in_parts += run_random_nests(random, diagram, mask, 40, 4, true, check_right);
  }
  CHECK(ran > 1000);
  CHECK(in_parts > 100);
}

TEST_CASE("nests of folds with factors of the row and of folds before them run") {
  RandomPoints random(test_seed());
  int ran = 0;
  for (int i = 0; i < 200; ++i) {
    const Diagram diagram = random_row_factors(random);
    CAPTURE(diagram.summary);
    ran += run_random_nests(random, diagram, Mask{}, 300, 20, false, check_right);
    run_random_nests(random, diagram, Mask{}, 300, 5, true, check_right);
  }
  CHECK(ran > 1000);
}

TEST_CASE("a schedule's programs are run against its diagram in milliseconds, and one that differs is told") {
  double longest = 0;
  for (const std::string& name : shipped_names(models() + "/schedules")) {
    CAPTURE(name);
    const Schedule schedule = find_schedule(name, models());
    const std::clock_t start = std::clock();
    const auto wrong = wrong_result_of(schedule);
    longest = std::max(longest, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    REQUIRE(std::holds_alternative<std::string>(wrong));
    CHECK(std::get<std::string>(wrong) == "");
  }
  MESSAGE("longest: " << longest << " s");
  if (times_are_judged) CHECK(longest < 0.02);
  Schedule other = find_schedule("matmul", models());
  Diagram& diagram = other.source;
  Operator& product = diagram.operators.front();
  const Array &left = diagram.array(product.inputs[0]), &right = diagram.array(product.inputs[1]);
  product.kind = OperatorKind::reduction, product.fold = FoldKind::max;
  product.expression = Expression::array(left.name) * Expression::array(right.name);
  for (const AxisId axis : left.axes)
    if (!diagram.array(product.outputs[0]).has(axis)) product.over.push_back(axis);
  CHECK(std::get<std::string>(wrong_result_of(other)).find(" where the diagram says ") != std::string::npos);
}

}  // namespace tilescope::derive_checked_test
