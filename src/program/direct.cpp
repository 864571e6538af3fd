#include "program/direct.h"

#include <algorithm>
#include <cmath>

#include "base/contains.h"
#include "cost/live_tiles.h"

namespace tilescope {
namespace {

Box everything(const Coordinates& sizes) { return {.first = {}, .end = sizes}; }

class DirectEvaluation {
 public:
  DirectEvaluation(const Diagram& diagram, const Coordinates& sizes, const Mask& mask, Memory& memory)
      : diagram_(diagram), sizes_(sizes), mask_(mask), memory_(memory) {}

  void run(const Operator& op) {
    if (op.kind == OperatorKind::softmax) return softmax(op);
    Expression body = op.expression.value_or(Expression());
    if (op.kind == OperatorKind::contraction) {
      body = Expression::array(diagram_.array(op.inputs.front()).name);
      for (std::size_t i = 1; i < op.inputs.size(); ++i)
        body = body * Expression::array(diagram_.array(op.inputs[i]).name);
    }
    std::vector<AxisId> folded = op.over;
    if (op.kind == OperatorKind::contraction)
      for (const AxisId axis : diagram_.axes_of(op))
        if (!diagram_.array(op.outputs.front()).has(axis) && !only_read(op, axis)) folded.push_back(axis);
    fold(op, body, folded, op.kind == OperatorKind::reduction ? op.fold : FoldKind::sum);
  }

 private:
  // An axis that only tables of places have.
  bool only_read(const Operator& op, AxisId axis) const {
    return std::none_of(op.inputs.begin(), op.inputs.end(), [&](ArrayId id) { return diagram_.array(id).has(axis); });
  }
  Values& create(ArrayId id) {
    const Array& array = diagram_.array(id);
    return memory_.insert_or_assign(array.name, Values(array.axes, sizes_, std::nan(""))).first->second;
  }
  NumericExpression compiled(const Expression& body) const {
    return {body, diagram_, sizes_, [&](const std::string& name) {
              const auto found = memory_.find(name);
              return NumericExpression::Source{found == memory_.end() ? nullptr : &found->second};
            }};
  }
  bool skipped(const std::vector<ArrayId>& inputs, const Coordinates& point) const {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](ArrayId id) { return !seen(diagram_, diagram_.array(id).axes, sizes_, mask_, point); });
  }

  void fold(const Operator& op, const Expression& body, const std::vector<AxisId>& folded, FoldKind kind) {
    Values& out = create(op.outputs.front());
    const NumericExpression value = compiled(body);
    Coordinates point{};
    const Box box = everything(sizes_);
    for_each_point(out.axes, box, point, [&] {
      double total = fold_unit(kind);
      if (folded.empty()) total = value.at(point);
      else
        for_each_point(folded, box, point, [&] {
          if (!skipped(op.inputs, point)) total = fold_values(kind, total, value.at(point));
        });
      out.at(point) = total;
    });
  }

  void softmax(const Operator& op) {
    const Values& scores = memory_.at(diagram_.array(op.inputs.front()).name);
    Values& weights = create(op.outputs.front());
    std::vector<AxisId> rows = scores.axes;
    std::erase(rows, *op.along);
    Coordinates point{};
    const Box box = everything(sizes_);
    const std::vector<AxisId> along{*op.along};
    std::vector<Values*> more;
    for (std::size_t i = 1; i < op.outputs.size(); ++i) more.push_back(&create(op.outputs[i]));
    for_each_point(rows, box, point, [&] {
      double largest = fold_unit(FoldKind::max), sum = 0;
      const auto each = [&](const auto& visit) {
        for_each_point(along, box, point, [&] {
          if (!skipped(op.inputs, point)) visit(scores.at(point));
        });
      };
      each([&](double score) { largest = std::max(largest, score); });
      each([&](double score) { sum += std::exp(score - largest); });
      each([&](double score) { weights.at(point) = std::exp(score - largest) / sum; });
      const double values[] = {largest + std::log(sum), largest, sum};
      for (std::size_t i = 0; i < more.size(); ++i) more[i]->at(point) = values[i];
    });
  }

  const Diagram& diagram_;
  const Coordinates& sizes_;
  const Mask& mask_;
  Memory& memory_;
};

}  // namespace

bool seen(const Diagram& diagram, const std::vector<AxisId>& axes, const Coordinates& sizes, const Mask& mask,
          const Coordinates& point) {
  if (!diagram.guard || !mask.masks()) return true;
  const std::size_t query = index(diagram.guard->query), key = index(diagram.guard->key);
  if (!contains(axes, diagram.guard->query) || !contains(axes, diagram.guard->key)) return true;
  return sees(mask, sizes[query], sizes[key], point[query], point[key]);
}

Memory random_inputs(const Diagram& diagram, const Coordinates& sizes, std::mt19937_64& random) {
  Memory memory;
  std::uniform_real_distribution<double> value(0.25, 1);
  for (const Array& array : diagram.arrays) {
    if (array.role != ArrayRole::input) continue;
    Values values(array.axes, sizes, 0);
    for (double& one : values.all) one = value(random);
    if (array.alias_of) {
      const Values& source = memory.at(diagram.array(*array.alias_of).name);
      Coordinates point{};
      for_each_point(array.axes, everything(sizes), point, [&] {
        Coordinates there = point;
        there[index(source.axes.back())] = point[index(array.axes.back())];
        values.at(point) = source.at(there);
      });
    }
    memory.insert_or_assign(array.name, std::move(values));
  }
  return memory;
}

void evaluate_directly(const Diagram& diagram, const Coordinates& sizes, const Mask& mask, Memory& memory) {
  DirectEvaluation direct(diagram, sizes, mask, memory);
  for (const Operator& op : diagram.operators) direct.run(op);
}

}  // namespace tilescope
