#include "derive/kernel_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "base/contains.h"
#include "schedule/rewrite.h"

namespace tilescope {
namespace {

// A loop's tile: 1 for batch-like axes, else a parameter of the loop's own.
TileSize add_parameter(Schedule& schedule, const AxisLoop& loop) {
  const std::string name = schedule.diagram.axes[index(loop.axis)].name + (loop.parts ? "_part" : "");
  schedule.parameters.push_back({name, 1});
  return {.parameter = static_cast<int>(schedule.parameters.size()) - 1};
}

// Whether tiles outside the mask contribute nothing to every fold. A sum of the keys themselves over all keys is a
// counterexample: it needs all tiles.
bool folds_are_masked(const Primitives& primitives, const FusedKernel& kernel) {
  const auto& guard = primitives.diagram.guard;
  return guard && std::all_of(kernel.region.primitives.begin(), kernel.region.primitives.end(), [&](int number) {
           const Primitive& primitive = primitives.list[static_cast<std::size_t>(number)];
           if (!primitive.folds(guard->query) && !primitive.folds(guard->key)) return true;
           return std::any_of(primitive.inputs.begin(), primitive.inputs.end(), [&](ArrayId id) {
             return primitives.array(id).has(guard->query) && primitives.array(id).has(guard->key);
           });
         });
}

// The kernel that merges partial results: blocks over the axes that all results share, parts processed sequentially.
Island merge_island(Schedule& schedule, const Island& parts) {
  Island merge;
  merge.name = "merge";
  merge.operators = {add_merge(schedule, parts)};
  const Operator& op = schedule.diagram.operators[static_cast<std::size_t>(merge.operators.front())];
  for (std::size_t a = 0; a < schedule.diagram.axes.size(); ++a) {
    const auto axis = static_cast<AxisId>(static_cast<int>(a));
    const auto has = [&](ArrayId id) { return schedule.diagram.array(id).has(axis); };
    if (std::all_of(op.outputs.begin(), op.outputs.end(), has)) merge.loops.push_back({axis, Partition::group, {}});
  }
  for (const ArrayId id : op.outputs)
    if (schedule.diagram.array(id).role == ArrayRole::interior) merge.stored_as.push_back({.result = id, .as = id});
  for (const AxisId chunks : op.over) merge.loops.push_back({chunks, Partition::stream, {}});
  return merge;
}

// Whether the tile may be chosen: it is a parameter and not the length of a split's parts.
bool is_tile(const Schedule& schedule, const SymbolSource& source) {
  if (source.kind != SymbolSource::Kind::tile || source.tile.parameter < 0 || source.tile.parts) return false;
  return std::none_of(schedule.chunks.begin(), schedule.chunks.end(),
                      [&](const Chunking& cut) { return cut.length.parameter == source.tile.parameter; });
}

// Default length of the parts: from the schedule's default number of parts, else two parts.
double default_part(const Schedule& schedule, const SymbolSource& source, double size) {
  const std::int64_t value = schedule.parameters[static_cast<std::size_t>(source.tile.parameter)].default_value;
  return std::ceil(size / static_cast<double>(source.tile.parts ? value : 2));
}

}  // namespace

Schedule kernel_schedule(const Primitives& primitives, const FusedKernel& kernel, const AxisLoops& loops) {
  return kernel_schedule(primitives, kernel, loops, KernelRules(primitives, kernel).unread(loops));
}

Schedule kernel_schedule(const Primitives& primitives, const FusedKernel& kernel, const AxisLoops& loops,
                         const std::vector<ArrayId>& unread) {
  Schedule schedule;
  schedule.name = to_text(primitives.diagram, loops), schedule.diagram = primitives.diagram;
  Island island;
  island.name = "kernel", island.operators = kernel.region.primitives, island.unread = unread;
  island.skips_masked_tiles = folds_are_masked(primitives, kernel);
  const std::vector<AxisId> batch_like = batch_axes(primitives, kernel);
  for (const int number : kernel.region.primitives) {
    const ArrayId id = primitives.list[static_cast<std::size_t>(number)].output;
    const bool result = contains(kernel.region.results, id);
    if (result && primitives.array(id).role == ArrayRole::interior)
      island.stored_as.push_back({.result = id, .as = id});
    if (!result && primitives.array(id).role == ArrayRole::output) island.omits.push_back(id);
  }
  std::optional<std::size_t> parts;
  for (const AxisLoop& loop : loops) {
    const bool batch = contains(batch_like, loop.axis);
    if (loop.parts) parts = island.loops.size();
    island.loops.push_back({loop.axis, loop.partition, batch ? TileSize{} : add_parameter(schedule, loop)});
  }
  if (parts) split_fold(schedule, primitives, island, *parts);
  keep_state(schedule, primitives, island);
  schedule.islands.push_back(island);
  if (parts) {
    Island merge = merge_island(schedule, island);
    schedule.islands.push_back(std::move(merge));
  }
  return schedule;
}

ScheduleProblem problem_of(const Schedule& schedule, const SymbolicOptions& options, int island,
                           const std::map<std::string, Rational>& widths) {
  ScheduleProblem problem;
  problem.symbolic = symbolic(schedule, options);
  const SymbolicSchedule& counts = problem.symbolic;
  const Diagram expanded = widths.empty() ? Diagram{} : expand(schedule.diagram).diagram;
  const auto wanted = [&](int number) { return island < 0 || number == island; };
  for (const SymbolicTerm& term : counts.terms)
    if (wanted(term.island))
      problem.traffic += relax(term.values, counts.symbols) *
                         Polynomial(width_of(expanded, schedule.diagram.array(term.array).name, widths));
  std::set<SymbolId> used = symbols_of(problem.traffic);
  for (const SymbolicColumn& column : counts.columns) {
    if (!wanted(column.island)) continue;
    Polynomial memory = widths.empty() ? column.values : Polynomial(0);
    for (std::size_t i = 0; i < column.live.size() && !widths.empty(); ++i)
      memory += column.tiles[i] * Polynomial(width_of(expanded, column.live[i], widths));
    memory = relax(memory, counts.symbols);
    if (memory.is_zero() || contains(problem.columns, memory)) continue;
    for (const SymbolId symbol : symbols_of(memory)) used.insert(symbol);
    problem.columns.push_back(memory);
  }
  for (std::size_t i = 0; i < counts.inputs.size(); ++i)
    if (is_tile(schedule, counts.inputs[i]) && used.contains(counts.symbols.inputs()[i]))
      problem.tiles.push_back(counts.symbols.inputs()[i]);
  return problem;
}

Rational width_of(const Diagram& diagram, const std::string& array, const std::map<std::string, Rational>& widths) {
  if (widths.empty()) return 1;
  const auto own = widths.find(array);
  if (own != widths.end()) return own->second;
  const auto id = diagram.find_array(array);
  const auto key = id ? widths.find(diagram.array(*id).dtype_key) : widths.end();
  return key == widths.end() ? Rational(1) : key->second;
}

void leave_out_ones(ScheduleProblem& problem, const Schedule& schedule, const Workload& workload) {
  for (std::size_t i = 0; i < problem.symbolic.inputs.size(); ++i) {
    const SymbolSource& source = problem.symbolic.inputs[i];
    const SymbolId id = problem.symbolic.symbols.inputs()[i];
    const bool of_axis = source.kind == SymbolSource::Kind::size || is_tile(schedule, source);
    if (!of_axis || schedule.diagram.axes[index(source.axis)].size_in(workload) != 1) continue;
    problem.traffic = substitute(problem.traffic, id, 1);
    for (Polynomial& column : problem.columns) column = substitute(column, id, 1);
    std::erase(problem.tiles, id);
  }
  std::vector<Polynomial> distinct;
  for (const Polynomial& column : problem.columns)
    if (!contains(distinct, column)) distinct.push_back(column);
  problem.columns = std::move(distinct);
}

Valuation sizes_of(const SymbolicSchedule& symbolic, const Schedule& schedule, const Workload& workload,
                   const Mask& mask) {
  Valuation values;
  const Workload lengths = guarded_lengths(schedule.diagram, workload);
  const auto seen = [&] {
    return mask.masks() ? visible_pairs(mask, lengths.q_len, lengths.kv_len)
                        : LiveSums{.rows = lengths.q_len, .keys = lengths.kv_len};
  };
  for (std::size_t i = 0; i < symbolic.inputs.size(); ++i) {
    const SymbolSource& source = symbolic.inputs[i];
    const double size = static_cast<double>(schedule.diagram.axes[index(source.axis)].size_in(workload));
    const SymbolId id = symbolic.symbols.inputs()[i];
    if (source.kind == SymbolSource::Kind::size) values[id] = size;
    if (source.kind == SymbolSource::Kind::live_share) values[id] = live_share(lengths, mask);
    if (source.kind == SymbolSource::Kind::mask_edges) values[id] = mask_edges(lengths, mask);
    if (source.kind == SymbolSource::Kind::seen_rows) values[id] = static_cast<double>(seen().rows);
    if (source.kind == SymbolSource::Kind::seen_keys) values[id] = static_cast<double>(seen().keys);
    if (source.kind == SymbolSource::Kind::tile && source.tile.parameter >= 0 && !is_tile(schedule, source))
      values[id] = default_part(schedule, source, size);
    if (source.kind == SymbolSource::Kind::tile && source.tile.parameter < 0)
      values[id] = static_cast<double>(source.tile.value(static_cast<std::int64_t>(size), {}));
  }
  return values;
}

Valuation tile_bounds(const SymbolicSchedule& symbolic, const Schedule& schedule, const Workload& workload) {
  Valuation bounds;
  for (std::size_t i = 0; i < symbolic.inputs.size(); ++i) {
    const SymbolSource& source = symbolic.inputs[i];
    if (is_tile(schedule, source))
      bounds[symbolic.symbols.inputs()[i]] =
          static_cast<double>(schedule.diagram.axes[index(source.axis)].size_in(workload));
  }
  return bounds;
}

double moved_of(const ScheduleProblem& problem, const Schedule& schedule, const std::vector<ArrayId>& arrays,
                const std::map<std::string, Rational>& widths, Valuation at, const BestTiles& best) {
  const Symbols& symbols = problem.symbolic.symbols;
  for (std::size_t i = 0; i < problem.symbolic.inputs.size(); ++i)
    if (is_tile(schedule, problem.symbolic.inputs[i])) at[symbols.inputs()[i]] = 1;  // those of axes of one element
  for (std::size_t i = 0; i < problem.tiles.size() && i < best.tiles.size(); ++i) at[problem.tiles[i]] = best.tiles[i];
  double moved = 0;
  for (const SymbolicTerm& term : problem.symbolic.terms)
    if (contains(arrays, term.array))
      moved += evaluate(relax(term.values, symbols), symbols, at) *
               width_of(schedule.diagram, schedule.diagram.array(term.array).name, widths).to_double();
  return moved;
}

double blocks_of(const ScheduleProblem& problem, const Schedule& schedule, const Workload& workload,
                 const BestTiles& best) {
  const auto tile_of = [&](const TileSize& tile) {
    const std::vector<SymbolId>& inputs = problem.symbolic.symbols.inputs();
    for (std::size_t i = 0; i < problem.tiles.size() && i < best.tiles.size(); ++i) {
      const auto at =
          static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), problem.tiles[i]) - inputs.begin());
      if (tile.parameter >= 0 && problem.symbolic.inputs[at].tile.parameter == tile.parameter) return best.tiles[i];
    }
    return static_cast<double>(tile.literal);
  };
  double blocks = 1;
  for (const Loop& loop : schedule.islands.front().loops) {
    const auto size = static_cast<double>(schedule.diagram.axes[index(loop.axis)].size_in(workload));
    if (loop.partition == Partition::group) blocks *= size / std::min(size, tile_of(loop.tile));
  }
  return blocks;
}

BestTiles best_tiles(const ScheduleProblem& problem, const Valuation& sizes, const Valuation& bounds, double memory,
                     double worthless) {
  const Symbols& symbols = problem.symbolic.symbols;
  const auto with_column = [&](const Polynomial& column) {
    return numeric_programme({problem.traffic, column, problem.tiles}, symbols, sizes, memory, bounds);
  };
  BestTiles best;
  Valuation at = sizes;
  if (problem.tiles.empty()) {
    best.found = std::all_of(problem.columns.begin(), problem.columns.end(),
                             [&](const Polynomial& column) { return evaluate(column, symbols, at) <= memory; });
    best.traffic = best.lower_bound = evaluate(problem.traffic, symbols, at);
    return best;
  }
  NumericProgramme programme = with_column(problem.columns.front());
  for (std::size_t i = 1; i < problem.columns.size(); ++i) {
    const NumericProgramme other = with_column(problem.columns[i]);
    programme.program.constraints.insert(programme.program.constraints.end(), other.program.constraints.begin(),
                                         other.program.constraints.end());
  }
  const GeometricResult result =
      solve(programme.program, {.relative_gap = 1e-6, .worthless = worthless - programme.constants});
  if (result.variables.size() == 0 || result.lower_bound + programme.constants >= worthless) return best;
  best.found = true;
  best.traffic = result.value + programme.constants, best.lower_bound = result.lower_bound + programme.constants;
  double largest = 0;
  for (std::size_t i = 0; i < problem.tiles.size(); ++i) {
    best.tiles.push_back(result.variables[static_cast<Eigen::Index>(i)]);
    at[problem.tiles[i]] = best.tiles.back();
  }
  for (std::size_t c = 0; c < problem.columns.size(); ++c)
    if (const double used = evaluate(problem.columns[c], symbols, at); used > largest)
      largest = used, best.binding_column = static_cast<int>(c);
  return best;
}

TilesAndSizes best_tiles(const ScheduleProblem& problem, const Schedule& schedule, const Workload& workload,
                         const Mask& mask, double memory, double worthless) {
  const Valuation bounds = tile_bounds(problem.symbolic, schedule, workload);
  TilesAndSizes best;
  best.sizes = sizes_of(problem.symbolic, schedule, workload, mask);
  best.tiles = best_tiles(problem, best.sizes, bounds, memory, worthless);
  if (!mask.masks()) return best;
  TilesAndSizes all;
  all.sizes = sizes_of(problem.symbolic, schedule, workload, {});
  const double wanted = best.tiles.found ? best.tiles.traffic : std::numeric_limits<double>::infinity();
  all.tiles = best_tiles(problem, all.sizes, bounds, memory, std::min(worthless, wanted));
  const bool less = all.tiles.found && (!best.tiles.found || all.tiles.traffic < best.tiles.traffic);
  return less ? all : best;
}

// If sizes are much larger than the memory, and the memory much larger than single elements, the column with the
// largest optimum is the active constraint.
ExactOptimum closed_form(const ScheduleProblem& problem, const Valuation& sizes) {
  ExactOptimum best;
  best.reason = "no column of the footprint depends on tiles";
  double costliest = -1;
  constexpr double large = 1e15;
  for (const Polynomial& column : problem.columns) {
    ExactOptimum optimum = exact_optimum({problem.traffic, column, problem.tiles}, problem.symbolic.symbols);
    const double cost = optimum.closed ? evaluate(optimum, problem.symbolic.symbols, sizes, large)
                                       : std::numeric_limits<double>::infinity();
    if (cost > costliest || best.reason.starts_with("no column")) costliest = cost, best = std::move(optimum);
  }
  return best;
}

}  // namespace tilescope
