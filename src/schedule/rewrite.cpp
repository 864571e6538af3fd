#include "schedule/rewrite.h"

#include <algorithm>

#include "base/contains.h"
#include "diagram/streamability.h"

namespace tilescope {
namespace {

ArrayId add_array(Schedule& schedule, Array array) {
  while (schedule.diagram.find_array(array.name)) array.name += "_";
  schedule.diagram.arrays.push_back(std::move(array));
  return static_cast<ArrayId>(static_cast<int>(schedule.diagram.arrays.size()) - 1);
}

std::vector<ArrayId> results_of(const Schedule& schedule, const Island& island) {
  std::vector<ArrayId> found;
  for (std::size_t i = 0; i < schedule.diagram.arrays.size(); ++i)
    if (const auto id = static_cast<ArrayId>(static_cast<int>(i)); schedule.writes(island, id)) found.push_back(id);
  return found;
}

// The operator of the diagram that yields the primitives' array also yields it as an output.
ArrayId expose(Schedule& schedule, const Primitives& primitives, ArrayId inner) {
  const Array& array = primitives.array(inner);
  if (const auto known = schedule.diagram.find_array(array.name)) return *known;
  Array exposed = array;
  exposed.role = ArrayRole::output;
  const ArrayId id = add_array(schedule, exposed);
  const int op = primitives.list[static_cast<std::size_t>(primitives.producer(inner))].op;
  schedule.diagram.operators[static_cast<std::size_t>(op)].outputs.push_back(id);
  return id;
}

// Of the results over the axis those whose parts a merge reads: they say what the state of a part was. All of them
// where that is not known.
std::vector<ArrayId> results_of_parts(const Primitives& primitives, const Island& island,
                                      const std::vector<ArrayId>& results, AxisId axis) {
  std::vector<ArrayId> folded;
  for (const ArrayId result : results) {
    const std::vector<AxisId> over = folded_axes(primitives, island, result);
    if (contains(over, axis)) folded.push_back(result);
  }
  const auto cascade =
      cascade_along(primitives, {.primitives = primitives_of(primitives, island), .results = folded}, axis);
  if (!std::holds_alternative<Cascade>(cascade)) return folded;
  const auto found = derive_witness(std::get<Cascade>(cascade));
  const auto* witness = std::get_if<Witness>(&found);
  if (!witness) return folded;
  std::vector<ArrayId> read;
  for (const ArrayId result : folded) {
    const std::string& name = primitives.array(result).name;
    const auto says = [&](const StateVariable& variable) {
      if (witness->compact)
        for (const auto& [state, value] : witness->compact->section)
          if (state == variable.name) return value.uses(name);
      return variable.name == name;
    };
    if (std::any_of(witness->state.begin(), witness->state.end(), says)) read.push_back(result);
  }
  return read.empty() ? folded : read;
}

}  // namespace

void split_fold(Schedule& schedule, const Primitives& primitives, Island& island, std::size_t loop) {
  const AxisId of = island.loops[loop].axis;
  const std::vector<ArrayId> results = results_of(schedule, island);
  const auto chunks = static_cast<AxisId>(static_cast<int>(schedule.diagram.axes.size()));
  const std::string name = schedule.diagram.axes[index(of)].name + "_chunks";
  schedule.diagram.axes.push_back({.name = name, .size = name, .chunks_of = of});
  schedule.chunks.push_back({chunks, of, island.loops[loop].tile});
  island.loops[loop] = {chunks, Partition::group, {}};
  const auto inner = [&](const Loop& other) { return other.axis == of; };
  if (std::none_of(island.loops.begin(), island.loops.end(), inner)) {  // a part is one step
    const auto first_stream = std::find_if(island.loops.begin(), island.loops.end(), [&](const Loop& other) {
      return other.partition == Partition::stream && std::any_of(results.begin(), results.end(), [&](ArrayId result) {
               return contains(folded_axes(primitives, island, result), of) &&
                      !schedule.diagram.array(result).has(other.axis);
             });
    });
    island.loops.insert(first_stream, {of, Partition::stream, schedule.chunks.back().length});
  }
  const std::vector<ArrayId> read = results_of_parts(primitives, island, results, of);
  for (const ArrayId result : results) {
    const std::vector<AxisId> folded = folded_axes(primitives, island, result);
    if (!contains(folded, of)) continue;
    if (!contains(read, result)) {
      std::erase_if(island.stored_as, [&](const Stored& stored) { return stored.as == result; });
      island.omits.push_back(result), island.left_to_merge.push_back(result);
      continue;
    }
    Array part = schedule.diagram.array(result);
    part.name += "_part", part.role = ArrayRole::interior, part.dtype_key = "acc";
    part.axes.insert(part.axes.end() - 1, chunks);
    std::erase_if(island.stored_as, [&](const Stored& stored) { return stored.as == result; });
    island.stored_as.push_back({.result = result, .as = add_array(schedule, part)});
  }
}

int add_merge(Schedule& schedule, const Island& parts) {
  Operator merge{.name = "merge of " + parts.name, .kind = OperatorKind::merge};
  for (const Stored& stored : parts.stored_as) {
    const Array& array = schedule.diagram.array(stored.as);
    if (array.axes.size() == schedule.diagram.array(stored.result).axes.size()) continue;
    merge.inputs.push_back(stored.as), merge.outputs.push_back(stored.result);
    for (const AxisId axis : array.axes)
      if (schedule.diagram.axes[index(axis)].chunks_of) merge.over = {axis};
  }
  merge.outputs.insert(merge.outputs.end(), parts.left_to_merge.begin(), parts.left_to_merge.end());
  schedule.diagram.operators.push_back(std::move(merge));
  return static_cast<int>(schedule.diagram.operators.size()) - 1;
}

ArrayId add_accumulator(Schedule& schedule, ArrayId result, const std::string& dtype_key) {
  Array array = schedule.diagram.array(result);
  array.name += "_acc", array.role = ArrayRole::interior, array.dtype_key = dtype_key;
  return add_array(schedule, array);
}

int add_conversion(Schedule& schedule, const Stored& stored) {
  const std::string accumulator = schedule.diagram.array(stored.as).name;
  schedule.diagram.operators.push_back({.name = "convert " + accumulator,
                                        .kind = OperatorKind::pointwise,
                                        .inputs = {stored.as},
                                        .outputs = {stored.result},
                                        .expression = Expression::array(accumulator)});
  return static_cast<int>(schedule.diagram.operators.size()) - 1;
}

void keep_state(Schedule& schedule, const Primitives& primitives, Island& island) {
  std::vector<ArrayId> inner_state;
  Stored how{};
  for (const ArrayId result : results_of(schedule, island)) {
    const Stored own = schedule.how_stored(island, result);
    if (own.result != own.as) continue;  // partial results and accumulators are complete in themselves
    for (const AxisId axis : folded_axes(primitives, island, result)) {
      if (!comes_back(schedule.diagram, island, result, axis)) continue;
      if (own.zeroed) how = own;  // the state lives as its result does
      for (const ArrayId id : state_of(primitives, island, result, axis))
        if (!contains(inner_state, id) && comes_back(schedule.diagram, island, primitives.array(id), axis))
          inner_state.push_back(id);
    }
  }
  if (inner_state.empty()) return;
  // Maps of the state alone are not stored: they follow from it when it is complete.
  for (const ArrayId result : results_of(schedule, island)) {
    if (const Stored own = schedule.how_stored(island, result); own.result != own.as) continue;
    const int producer = primitives.producer(result);
    const Primitive& primitive = primitives.list[static_cast<std::size_t>(producer)];
    const auto of_state = [&](ArrayId id) { return contains(inner_state, id); };
    if (!primitive.fold && std::all_of(primitive.inputs.begin(), primitive.inputs.end(), of_state))
      island.omits.push_back(result);
  }
  for (const ArrayId inner : inner_state) {
    const ArrayId id = expose(schedule, primitives, inner);
    island.stored_as.push_back({.result = id, .as = id, .by = how.by, .zeroed = how.zeroed});
  }
}

}  // namespace tilescope
