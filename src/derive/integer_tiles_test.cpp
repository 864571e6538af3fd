// Compares the best tiles of the relaxed problem with all integer tiles of the exact problem.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <cmath>

#include "derive/random/random_nests.h"
#include "derive/symbolic/counted.h"
#include "derive/test_models.h"
#include "optimum/integer_search.h"

namespace tilescope::integer_tiles_test {
namespace {

// Exact traffic and footprint of a schedule at one workload as functions of its tiles, in the order of
// ScheduleProblem::tiles.
struct ExactCounts {
  Program program;
  std::vector<std::int64_t> inputs;
  std::vector<std::size_t> positions;

  ExactCounts(const Schedule& schedule, const ScheduleProblem& problem, const Workload& workload) {
    std::vector<Polynomial> all{0};
    for (const SymbolicTerm& term : problem.symbolic.terms) all[0] += term.values;
    for (const SymbolicColumn& column : problem.symbolic.columns) all.push_back(column.values);
    program = compile(problem.symbolic.symbols, all);
    std::vector<std::int64_t> externals;
    bind_symbols(problem.symbolic, schedule, workload, {}, std::vector<std::int64_t>(schedule.parameters.size(), 1),
                 inputs, externals);
    for (const SymbolId tile : problem.tiles) positions.push_back(problem.symbolic.symbols[tile].position);
  }
  TileCount traffic() const { return tile_count(program, inputs, positions); }
  TileCount memory() const {
    return [this, outputs = std::vector<std::int64_t>(program.output_count()),
            values = inputs](std::span<const std::int64_t> tiles) mutable {
      for (std::size_t i = 0; i < positions.size(); ++i) values[positions[i]] = tiles[i];
      program.run(values, {}, outputs);
      return *std::max_element(outputs.begin() + 1, outputs.end());
    };
  }
};

// A relaxed count includes loops over which a tile is stationary, but the exact count excludes them. Such nests are not
// compared. Each of them equals a nest without that loop, which is compared.
bool gated(const SymbolicSchedule& symbolic) {
  for (const SymbolicTerm& term : symbolic.terms)
    for (const SymbolId id : symbols_of(term.values))
      if (symbolic.symbols[id].kind == SymbolKind::gate) return true;
  return false;
}

// The part of a count that is subtracted: first visits, which load nothing.
double subtracted(const Polynomial& polynomial, const Symbols& symbols, const Valuation& at) {
  double sum = 0;
  for (const Monomial& term : polynomial.terms())
    if (term.coefficient < 0) sum -= evaluate(Polynomial(term), symbols, at);
  return sum;
}

// Returns false if there is nothing to compare.
bool compare(RandomPoints& random, const Schedule& schedule, const Workload& workload) {
  const ScheduleProblem problem = problem_of(schedule, {});
  if (problem.tiles.empty() || problem.tiles.size() > 3 || gated(problem.symbolic)) return false;
  const Valuation sizes = sizes_of(problem.symbolic, schedule, workload, {}),
                  bounds = tile_bounds(problem.symbolic, schedule, workload);
  const ExactCounts exact(schedule, problem, workload);
  std::vector<TileSteps> steps;
  std::vector<std::int64_t> least, most;
  for (const SymbolId tile : problem.tiles) {
    steps.push_back({1, static_cast<std::int64_t>(bounds.at(tile)), 1});
    least.push_back(1), most.push_back(steps.back().most);
  }
  const std::int64_t smallest = exact.memory()(least), largest = exact.memory()(most);
  const std::int64_t memory = random.between(smallest + 1, std::max(smallest + 2, largest));
  const IntegerSearch search = search_tiles(steps, exact.memory(), memory, exact.traffic());
  const BestTiles best = best_tiles(problem, sizes, bounds, static_cast<double>(memory));
  CAPTURE(memory);
  CAPTURE(smallest);
  CAPTURE(largest);
  REQUIRE(search.complete);
  REQUIRE(search.best);
  REQUIRE(best.found);
  const double integer = static_cast<double>(search.best->traffic);
  CAPTURE(integer);
  CAPTURE(best.traffic);
  CAPTURE(best.lower_bound);
  const std::string real = fmt::format("{}", fmt::join(best.tiles, " ")),
                    whole = fmt::format("{}", fmt::join(search.best->tiles, " "));
  CAPTURE(real);
  CAPTURE(whole);
  CHECK(integer >= best.lower_bound * (1 - 1e-9));
  // Tiles rounded down still fit. Each loop then has ceil(size / floor(tile)) trips instead of size / tile.
  double growth = 1;
  Valuation at = sizes;
  std::vector<std::int64_t> rounded;
  for (std::size_t i = 0; i < problem.tiles.size(); ++i) {
    const double size = bounds.at(problem.tiles[i]);
    rounded.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(best.tiles[i] * (1 + 1e-6))));
    growth *= std::ceil(size / static_cast<double>(rounded.back())) / (size / best.tiles[i]);
    at[problem.tiles[i]] = best.tiles[i];
  }
  const double less = subtracted(problem.traffic, problem.symbolic.symbols, at);
  CHECK(integer <= ((best.traffic + less) * growth - less) * (1 + 1e-5));
  if (exact.memory()(rounded) <= memory) CHECK(integer <= static_cast<double>(exact.traffic()(rounded)));
  return true;
}

}  // namespace

TEST_CASE("the best integer tiles lie between the certified bound and the rounded best tiles") {
  MESSAGE("seed " << test_seed());
  RandomPoints random(test_seed());
  const std::vector<std::string> names = shipped_names(models() + "/diagrams");
  std::vector<Primitives> diagrams;
  std::vector<Fusions> fusions;
  for (const std::string& name : names) {
    diagrams.push_back(primitives_of_diagram(find_diagram(name, models())));
    fusions.push_back(enumerate_fusions(diagrams.back(), {.most = 2000}));
  }
  int compared = 0;
  for (int i = 0; i < 4000 && compared < 200; ++i) {
    const auto n = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(names.size()) - 1));
    const FusedKernel& kernel = fusions[n].kernels[static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(fusions[n].kernels.size()) - 1))];
    const auto loops = random_nest(random, KernelRules(diagrams[n], kernel));
    if (!loops || std::any_of(loops->begin(), loops->end(), [](const AxisLoop& loop) { return loop.parts; })) continue;
    Schedule schedule = kernel_schedule(diagrams[n], kernel, *loops);
    random.sizes(schedule.diagram, 24);
    const Workload workload{1,
                            random.between(1, 6),
                            1,
                            random.between(4, 32),
                            random.between(4, 32),
                            random.between(2, 12),
                            random.between(2, 12)};
    const std::string nest = names[n] + " " + to_text(schedule.diagram, *loops);
    CAPTURE(nest);
    CAPTURE(workload.heads_q);
    CAPTURE(workload.q_len);
    CAPTURE(workload.kv_len);
    CAPTURE(workload.d_qk);
    CAPTURE(workload.d_v);
    compared += compare(random, schedule, workload);
  }
  CHECK(compared == 200);
}

}  // namespace tilescope::integer_tiles_test
