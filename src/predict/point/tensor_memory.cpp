#include "predict/point/tensor_memory.h"

#include <algorithm>

#include "base/contains.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

std::int64_t step_extent(const BoundIsland& bound, AxisId axis) {
  std::int64_t extent = bound.nest.size(axis);
  for (const BoundLoop& loop : bound.nest.all())
    if (loop.axis == axis) extent = loop.tile;
  return extent;
}

const Operator& operator_at(const BoundIsland& bound, int op) {
  return bound.plan.schedule.diagram.operators[static_cast<std::size_t>(op)];
}

// Products of two arrays: Product of products.h, before it is known where they accumulate.
std::vector<int> contractions(const BoundIsland& bound) {
  std::vector<int> all;
  for (const int op : bound.island.operators)
    if (operator_at(bound, op).kind == OperatorKind::contraction) all.push_back(op);
  return all;
}

bool same_axes(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

bool made_here(const BoundIsland& bound, ArrayId id) {
  const Array& array = bound.plan.schedule.diagram.array(id);
  return !array.alias_of && !loads(bound, id);
}

// Products that could take an array with these axes, made in the launch, as operand A whose rows are `rows`.
int takers(const BoundIsland& bound, const std::vector<AxisId>& axes, const std::vector<AxisId>& rows) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  int found = 0;
  for (const int op : contractions(bound)) {
    const auto& inputs = operator_at(bound, op).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Array &one = diagram.array(inputs[i]), &other = diagram.array(inputs[1 - i]);
      found += made_here(bound, inputs[i]) && same_axes(one.axes, axes) && same_axes(free_axes(one, other), rows);
    }
  }
  return found;
}

// Scores are turned if more products then take them as operand A; a product with one made operand takes that as A.
bool turns(const BoundIsland& bound, int op) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Operator& product = operator_at(bound, op);
  const Array &first = diagram.array(product.inputs[0]), &second = diagram.array(product.inputs[1]);
  const std::vector<AxisId>& result = diagram.array(product.outputs.front()).axes;
  const int as_is = takers(bound, result, free_axes(first, second)),
            turned = takers(bound, result, free_axes(second, first));
  if (as_is != turned) return turned > as_is;
  return !made_here(bound, product.inputs[0]) && made_here(bound, product.inputs[1]);
}

// Whether the rows and columns of a product fill an instruction.
bool fills_instruction(const BoundIsland& bound, int op, bool is_turned) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto& inputs = operator_at(bound, op).inputs;
  const Array &a = diagram.array(inputs[is_turned ? 1 : 0]), &b = diagram.array(inputs[is_turned ? 0 : 1]);
  return side_extent(bound, a, b) % fewest_lanes == 0 && side_extent(bound, b, a) % columns_step == 0;
}

// The last product or map that takes a product's result, or what maps make of it in its place; the product itself:
// none.
int last_taker(const BoundIsland& bound, int op) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const ArrayId result = operator_at(bound, op).outputs.front();
  std::vector<ArrayId> in_place{result};
  int last = op;
  for (const int later : bound.island.operators) {
    const Operator& candidate = operator_at(bound, later);
    if (later <= op || std::none_of(candidate.inputs.begin(), candidate.inputs.end(),
                                    [&](ArrayId id) { return contains(in_place, id); }))
      continue;
    last = later;
    if (candidate.kind == OperatorKind::contraction) continue;
    for (const ArrayId made : candidate.outputs)
      if (same_axes(diagram.array(made).axes, diagram.array(result).axes)) in_place.push_back(made);
  }
  return last;
}

}  // namespace

std::int64_t side_extent(const BoundIsland& bound, const Array& one, const Array& other) {
  std::int64_t extent = 1;
  for (const AxisId axis : one.axes)
    if (!other.has(axis)) extent = checked_mul(extent, step_extent(bound, axis));
  return extent;
}

std::vector<AxisId> free_axes(const Array& one, const Array& other) {
  std::vector<AxisId> axes;
  for (const AxisId axis : one.axes)
    if (!other.has(axis)) axes.push_back(axis);
  return axes;
}

TensorMemory tensor_memory_of(const BoundIsland& bound) {
  TensorMemory memory;
  const MemoryLevel* level = bound.hardware.level(LevelId::tmem);
  if (!bound.plan.assumed || !bound.how.path().assumed || !level || !level->capacity_bytes) return memory;
  for (const int op : contractions(bound)) {
    if (operator_at(bound, op).inputs.size() != 2 || op >= 64) return {};
    const bool is_turned = turns(bound, op);
    if (!fills_instruction(bound, op, is_turned)) return {};
    memory.used = true;
    if (is_turned) memory.turned |= std::uint64_t{1} << op;
  }
  return memory;
}

bool turned(const BoundIsland& bound, int op) { return (bound.tensor_memory.turned >> op & 1) != 0; }

bool operand_in_tensor_memory(const BoundIsland& bound, int op, ArrayId id) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto& inputs = operator_at(bound, op).inputs;
  const std::size_t a = turned(bound, op) ? 1 : 0;
  if (!bound.tensor_memory.used || inputs[a] != id || !made_here(bound, id)) return false;
  const Array& array = diagram.array(id);
  const std::vector<AxisId> rows = free_axes(array, diagram.array(inputs[1 - a]));
  for (const int maker : contractions(bound)) {  // whose result it is made of
    const auto& made_of = operator_at(bound, maker).inputs;
    if (!same_axes(diagram.array(operator_at(bound, maker).outputs.front()).axes, array.axes)) continue;
    const std::size_t first = turned(bound, maker) ? 1 : 0;
    return same_axes(free_axes(diagram.array(made_of[first]), diagram.array(made_of[1 - first])), rows);
  }
  return true;
}

bool accumulator_lives(const BoundIsland& bound, int op, int now) {
  if (!bound.streams(operator_at(bound, op).outputs.front())) return true;
  // A result that leaves the block in every step is made last, when what the step's other products take is gone.
  const auto leaves = [&](int one) {
    return operator_at(bound, one).kind == OperatorKind::contraction &&
           bound.streams(operator_at(bound, one).outputs.front()) && last_taker(bound, one) == one;
  };
  if (leaves(op) || leaves(now)) return op == now;
  return op <= now && now <= last_taker(bound, op);
}

}  // namespace tilescope
