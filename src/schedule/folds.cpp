#include "schedule/folds.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <set>

#include "base/contains.h"
#include "diagram/streamability.h"

namespace tilescope {
namespace {

// Primitives of the island that `result` depends on, itself included; a result of another island is an input.
std::set<int> ancestors(const Primitives& primitives, const std::vector<int>& inside, ArrayId result) {
  std::set<int> found;
  std::vector<ArrayId> open{result};
  while (!open.empty()) {
    const int producer = primitives.producer(open.back());
    open.pop_back();
    if (producer < 0 || !contains(inside, producer) || !found.insert(producer).second) continue;
    const auto& inputs = primitives.list[static_cast<std::size_t>(producer)].inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return found;
}

// Axes along which folds use the map at some distance: there it is written out into every step.
std::bitset<64> written_out_along(const Primitives& primitives, const std::vector<int>& inside, const Primitive& map) {
  std::bitset<64> axes;
  for (const int number : inside) {
    const Primitive& user = primitives.list[static_cast<std::size_t>(number)];
    if (!contains(user.inputs, map.output)) continue;
    for (const AxisId axis : primitives.axes_of(user)) axes.set(index(axis));
    if (!user.fold) axes |= written_out_along(primitives, inside, user);
  }
  return axes;
}

// Whether a stream over `axis` takes the fold's input only when it has ended: no step adds or repairs with it.
bool enters_at_the_end(const Primitives& primitives, const std::vector<int>& inside, const Primitive& fold,
                       ArrayId input, AxisId axis) {
  const auto cascade = cascade_along(primitives, {.primitives = inside, .results = {}}, axis);
  if (!std::holds_alternative<Cascade>(cascade)) return false;
  const auto witness = derive_witness(std::get<Cascade>(cascade));
  if (!std::holds_alternative<Witness>(witness)) return false;
  const std::string &name = primitives.array(input).name, &result = primitives.array(fold.output).name;
  const auto& state = std::get<Witness>(witness).state;
  return std::none_of(state.begin(), state.end(), [&](const StateVariable& variable) {
    return variable.fold == result &&
           (variable.contribution.uses(name) || (variable.repair && variable.repair->uses(name)));
  });
}

}  // namespace

std::vector<int> primitives_of(const Primitives& primitives, const Island& island) {
  std::vector<int> inside;
  for (std::size_t i = 0; i < primitives.list.size(); ++i)
    if (contains(island.operators, primitives.list[i].op)) inside.push_back(static_cast<int>(i));
  return inside;
}

std::vector<ArrayId> state_of(const Primitives& primitives, const Island& island, ArrayId result, AxisId axis) {
  std::vector<ArrayId> state;
  for (const int number : ancestors(primitives, primitives_of(primitives, island), result)) {
    const Primitive& primitive = primitives.list[static_cast<std::size_t>(number)];
    if (primitive.folds(axis) && primitive.output != result) state.push_back(primitive.output);
  }
  return state;
}

std::vector<AxisId> folded_axes(const Primitives& primitives, const Island& island, ArrayId result) {
  std::set<AxisId> axes;
  for (const int number : ancestors(primitives, primitives_of(primitives, island), result)) {
    const auto& folded = primitives.list[static_cast<std::size_t>(number)].folded;
    axes.insert(folded.begin(), folded.end());
  }
  std::vector<AxisId> found;
  for (const AxisId axis : axes)
    if (!primitives.array(result).has(axis)) found.push_back(axis);
  return found;
}

std::vector<AxisId> awaited_axes(const Primitives& primitives, const Island& island, ArrayId array) {
  using Axes = std::bitset<64>;
  std::map<ArrayId, Axes> finished;  // of each result of a primitive: folds that were complete before it ran
  std::optional<Axes> awaited;
  const std::vector<int> inside = primitives_of(primitives, island);
  for (const int number : inside) {
    const Primitive& primitive = primitives.list[static_cast<std::size_t>(number)];
    Axes before;
    for (const ArrayId input : primitive.inputs) {
      const auto known = finished.find(input);
      if (known == finished.end()) continue;
      before |= known->second;
      for (const AxisId axis : primitives.list[static_cast<std::size_t>(primitives.producer(input))].folded)
        before.set(index(axis));
    }
    const Axes follows = before;
    for (const AxisId axis : primitives.axes_of(primitive)) before.reset(index(axis));  // it runs along with these
    finished[primitive.output] = before;
    if (primitive.output == array) {
      awaited = before;
      break;
    }
    if (!contains(primitive.inputs, array) && !contains(primitive.reads, array)) continue;
    if (!primitive.fold) before &= ~written_out_along(primitives, inside, primitive);
    for (const AxisId axis : primitive.folded)
      if (follows.test(index(axis)) && !primitives.array(array).has(axis) && !finished.contains(array) &&
          enters_at_the_end(primitives, inside, primitive, array, axis))
        before.set(index(axis));
    awaited = awaited ? *awaited & before : before;
  }
  std::vector<AxisId> axes;
  for (std::size_t i = 0; awaited && i < primitives.diagram.axes.size(); ++i)
    if (awaited->test(i)) axes.push_back(static_cast<AxisId>(static_cast<int>(i)));
  return axes;
}

bool comes_back(const Diagram& diagram, const Island& island, ArrayId array, AxisId axis) {
  return comes_back(diagram, island, diagram.array(array), axis);
}

bool comes_back(const Diagram& diagram, const Island& island, const Array& array, AxisId axis) {
  const auto over = [&](const Loop& loop) {
    return loop.axis == axis || diagram.axes[index(loop.axis)].chunks_of == axis;
  };
  const auto outermost = std::find_if(island.loops.begin(), island.loops.end(), over);
  if (outermost == island.loops.end()) return false;
  if (outermost->partition == Partition::group) return true;
  return std::any_of(outermost, island.loops.end(), [&](const Loop& loop) { return array.has(loop.axis); });
}

}  // namespace tilescope
