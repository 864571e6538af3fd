// Tests only: the walk and the compiled symbolic counts of one schedule, for comparison.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/contains.h"
#include "cost/walk.h"
#include "derive/symbolic/symbolic.h"
#include "schedule/folds.h"

namespace tilescope {

// Axes whose folds are complete before an array is touched.
inline std::vector<AxisId> awaited_by(const Schedule& schedule, const Island& island, ArrayId id) {
  const Primitives primitives = expand(schedule.diagram);
  const auto made = primitives.diagram.find_array(schedule.diagram.array(schedule.how_stored(island, id).result).name);
  return made ? awaited_axes(primitives, island, *made) : std::vector<AxisId>();
}

// The walk in which streams of `awaited` axes take one step, unless the axes `own` have them.
inline Walk walk_after(const Schedule& schedule, const Island& island, const Nest& nest, const Walk& walk,
                       const std::vector<AxisId>& awaited, const std::vector<AxisId>& own) {
  Nest after = nest;
  bool waits = false;
  for (std::size_t i = 0; i < after.loop_count; ++i) {
    BoundLoop& loop = after.loops[i];
    const bool part = nest.chunked.present() && static_cast<int>(i) == nest.chunked.inner;
    if (part || loop.group || !contains(awaited, loop.axis) || nest.carries(own, loop.axis)) continue;
    loop.tile = loop.size, loop.trips = 1, waits = true;
  }
  return waits ? tilescope::walk(schedule, island, after) : walk;
}

// Points of an operator that the walk computes.
inline std::int64_t walked_points(const Schedule& schedule, const Island& island, const Nest& nest, const Walk& walk,
                                  int op) {
  const Operator& own = schedule.diagram.operators[static_cast<std::size_t>(op)];
  const Walk after = walk_after(schedule, island, nest, walk, awaited_by(schedule, island, own.outputs.front()),
                                schedule.diagram.axes_of(own));
  return after.computed[static_cast<std::size_t>(op)].loaded;
}

// Values of an array that the walk moves in one direction. A stream that the array awaits takes one step.
inline std::int64_t walked(const Schedule& schedule, const Island& island, const Nest& nest, const Walk& walk,
                           ArrayId id, bool store) {
  const Primitives primitives = expand(schedule.diagram);
  const auto made = primitives.diagram.find_array(schedule.diagram.array(schedule.how_stored(island, id).result).name);
  bool again = schedule.how_stored(island, id).zeroed;
  const ArrayWalk array =
      walk_after(schedule, island, nest, walk, awaited_by(schedule, island, id), schedule.diagram.array(id).axes)
          .arrays[index(id)];
  if (const int producer = made ? primitives.producer(*made) : -1; producer >= 0) {
    for (const AxisId axis : primitives.list[static_cast<std::size_t>(producer)].folded)
      again = again || comes_back(schedule.diagram, island, primitives.array(*made), axis);
    if (schedule.writes(island, id) && !store && !again) return 0;  // computed again, not added to
  }
  if (!schedule.writes(island, id)) return store || !schedule.reads(island, id) ? 0 : array.loaded;
  const Stored how = schedule.how_stored(island, id);
  std::int64_t all = 1;
  for (const AxisId axis : schedule.diagram.array(id).axes) all *= nest.size(axis);
  if (store) return array.stored + (how.zeroed ? all : 0);
  return how.zeroed ? (how.by == Accumulate::reduction ? 0 : array.stored) : array.loaded_back;
}

// Values that the walk of an island moves in both directions.
inline std::int64_t walked_traffic(const Schedule& schedule, const Island& island, const Workload& workload,
                                   const Mask& mask, std::span<const std::int64_t> tiles) {
  const Nest nest = bind_nest(schedule, island, workload, mask, tiles);
  const Walk slow = walk(schedule, island, nest);
  std::int64_t total = 0;
  for (std::size_t a = 0; a < schedule.diagram.arrays.size(); ++a)
    for (const bool store : {false, true})
      total += walked(schedule, island, nest, slow, static_cast<ArrayId>(static_cast<int>(a)), store);
  return total;
}

// Outputs: every term of `symbolic`, then the points of every operator, then every column.
struct Counted {
  SymbolicSchedule symbolic;
  Program program;

  Counted(const Schedule& schedule, bool masked) : symbolic(tilescope::symbolic(schedule, {.masked = masked})) {
    std::vector<Polynomial> all;
    for (const SymbolicTerm& term : symbolic.terms) all.push_back(term.values);
    for (const SymbolicWork& work : symbolic.work) all.push_back(work.points);
    for (const SymbolicColumn& column : symbolic.columns) all.push_back(column.values);
    program = compile(symbolic.symbols, all);
  }

  std::vector<std::int64_t> at(const Schedule& schedule, const Workload& workload, const Mask& mask,
                               std::span<const std::int64_t> tiles) const {
    std::vector<std::int64_t> inputs, externals, outputs(program.output_count());
    bind_symbols(symbolic, schedule, workload, mask, tiles, inputs, externals);
    program.run(inputs, externals, outputs);
    return outputs;
  }

  std::int64_t traffic(const std::vector<std::int64_t>& outputs, int island) const {
    std::int64_t total = 0;
    for (std::size_t t = 0; t < symbolic.terms.size(); ++t)
      if (symbolic.terms[t].island == island) total += outputs[t];
    return total;
  }
  std::int64_t moved(const std::vector<std::int64_t>& outputs, int island, ArrayId id, bool store) const {
    std::int64_t total = 0;
    for (std::size_t t = 0; t < symbolic.terms.size(); ++t) {
      const SymbolicTerm& term = symbolic.terms[t];
      if (term.island == island && term.array == id && term.store == store) total += outputs[t];
    }
    return total;
  }
  // Values live in the fullest column.
  std::int64_t footprint(const std::vector<std::int64_t>& outputs, int island) const {
    std::int64_t most = 0;
    for (std::size_t c = 0; c < symbolic.columns.size(); ++c)
      if (symbolic.columns[c].island == island)
        most = std::max(most, outputs[symbolic.terms.size() + symbolic.work.size() + c]);
    return most;
  }
};

}  // namespace tilescope
