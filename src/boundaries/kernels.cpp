#include "boundaries/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/contains.h"
#include "base/text.h"

namespace tilescope {
namespace {

void bind(BoundKernel& kernel, const DeriveRequest& request) {
  kernel.problem = problem_of(kernel.schedule, symbolic_options(request.diagram, request.workload, request.mask),
                              kernel.island, request.widths);
  leave_out_ones(kernel.problem, kernel.schedule, request.workload);
  auto [tiles, sizes] = best_tiles(kernel.problem, kernel.schedule, request.workload, request.mask, request.memory);
  kernel.best = std::move(tiles), kernel.sizes = std::move(sizes);
  kernel.optimum = closed_form(kernel.problem, kernel.sizes);
}

}  // namespace

bool BoundSchedule::feasible() const {
  return !kernels.empty() &&
         std::all_of(kernels.begin(), kernels.end(), [](const BoundKernel& kernel) { return kernel.best.found; });
}

std::string BoundSchedule::open_because() const {
  for (const BoundKernel& kernel : kernels)
    if (!kernel.optimum.closed && !kernel.problem.tiles.empty()) return kernel.optimum.reason;
  return "";
}

PowerLaw BoundSchedule::law() const {
  std::map<double, double> sum;  // beta -> alpha
  for (const BoundKernel& kernel : kernels) {
    const Symbols& symbols = kernel.problem.symbolic.symbols;
    if (kernel.problem.tiles.empty()) {
      sum[0] += evaluate(kernel.problem.traffic, symbols, kernel.sizes);
      continue;
    }
    if (!kernel.optimum.closed) throw std::domain_error("no closed form: " + kernel.optimum.reason);
    sum[0] += evaluate(kernel.optimum.constants, symbols, kernel.sizes);
    for (const OptimumTerm& term : kernel.optimum.terms)
      sum[term.beta.to_double()] += term.alpha.evaluate(symbols, kernel.sizes);
  }
  PowerLaw law;
  for (const auto& [beta, alpha] : sum)
    if (alpha > 0) law.push_back({alpha, beta});
  return law;
}

std::string BoundSchedule::law_text() const {
  std::vector<std::string> parts;
  for (const BoundKernel& kernel : kernels)
    parts.push_back(kernel.problem.tiles.empty() ? to_text(kernel.problem.traffic, kernel.problem.symbolic.symbols)
                                                 : to_text(kernel.optimum, kernel.problem.symbolic.symbols));
  return join(parts, "; then ");
}

BoundSchedule bound_schedule(const Derivation& derivation, const NamedDerivation* named) {
  BoundSchedule bound{.request = derivation.request};
  const auto add = [&](std::string name, const Schedule& schedule, int island) {
    bound.kernels.push_back({.name = std::move(name), .schedule = schedule, .island = island});
    bind(bound.kernels.back(), bound.request);
  };
  if (named) {
    bound.name = named->name;
    for (std::size_t i = 0; i < named->schedule.islands.size(); ++i)
      add(named->schedule.islands[i].name, named->schedule, static_cast<int>(i));
  } else if (!derivation.ranked.empty()) {
    const RankedFusion& best = derivation.ranked.front();
    std::vector<std::string> nests;
    for (const RankedKernel& kernel : best.kernels) {
      nests.push_back(to_text(derivation.primitives.diagram, kernel.loops));
      add(nests.back(), kernel.schedule, 0);
    }
    bound.name = best.names.empty() ? join(nests, "; then ") : best.names.front();
  }
  return bound;
}

BoundSchedule rebound(const BoundSchedule& schedule, const DeriveRequest& request) {
  BoundSchedule bound = schedule;
  bound.request = request;
  for (BoundKernel& kernel : bound.kernels) bind(kernel, request);
  return bound;
}

double KernelCount::bytes(bool repeated) const {
  double sum = 0;
  for (const Moved& array : moved)
    if (array.repeated == repeated) sum += array.bytes;
  return sum;
}

std::vector<std::int64_t> whole_tiles(const BoundKernel& kernel) {
  std::vector<std::int64_t> tiles;
  for (const double tile : kernel.best.tiles)  // optima are known to 1e-6
    tiles.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(tile * (1 + 1e-6)))));
  return tiles;
}

KernelCount count_kernel(const BoundKernel& kernel, const DeriveRequest& request, std::vector<std::int64_t> tiles) {
  const SymbolicSchedule& symbolic = kernel.problem.symbolic;
  const Diagram expanded = request.widths.empty() ? Diagram{} : expand(kernel.schedule.diagram).diagram;
  std::vector<Polynomial> counts;
  KernelCount count;
  for (const SymbolicTerm& term : symbolic.terms) {
    if (term.island != kernel.island) continue;
    const Array& array = kernel.schedule.diagram.array(term.array);
    const std::set<SymbolId> used = symbols_of(relax(term.values, symbolic.symbols));
    count.moved.push_back({.array = array.name,
                           .store = term.store,
                           .state = array.dtype_key == "l" || array.dtype_key == "acc",
                           .repeated = std::any_of(kernel.problem.tiles.begin(), kernel.problem.tiles.end(),
                                                   [&](SymbolId tile) { return used.contains(tile); })});
    count.moved.back().bytes = width_of(expanded, array.name, request.widths).to_double();
    counts.push_back(term.values);
  }
  std::vector<std::int64_t> parameters, inputs, externals, values(counts.size());
  for (const auto& parameter : kernel.schedule.parameters) parameters.push_back(parameter.default_value);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const auto& all = symbolic.symbols.inputs();
    const auto at = static_cast<std::size_t>(std::find(all.begin(), all.end(), kernel.problem.tiles[i]) - all.begin());
    parameters[static_cast<std::size_t>(symbolic.inputs[at].tile.parameter)] = tiles[i];
  }
  bind_symbols(symbolic, kernel.schedule, request.workload, request.mask, parameters, inputs, externals);
  compile(symbolic.symbols, counts).run(inputs, externals, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    count.moved[i].values = values[i], count.moved[i].bytes *= static_cast<double>(values[i]);
  std::erase_if(count.moved, [](const KernelCount::Moved& array) { return array.values == 0; });
  return count;
}

std::string whole_tiles_text(const BoundKernel& kernel, const std::vector<std::int64_t>& tiles) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < tiles.size(); ++i)
    parts.push_back(fmt::format("{} = {}", kernel.problem.symbolic.symbols[kernel.problem.tiles[i]].text, tiles[i]));
  return join(parts, ", ");
}

}  // namespace tilescope
