#include "diagram/primitives.h"

#include <algorithm>
#include <bitset>
#include <set>
#include <stdexcept>

#include "base/contains.h"

namespace tilescope {
namespace {

class Expander {
 public:
  explicit Expander(const Diagram& diagram) { result_.diagram = diagram; }

  Primitives run() {
    const std::vector<Operator> operators = result_.diagram.operators;
    for (op_ = 0; op_ < static_cast<int>(operators.size()); ++op_) {
      const Operator& op = operators[static_cast<std::size_t>(op_)];
      switch (op.kind) {
        case OperatorKind::contraction:
          contraction(op);
          break;
        case OperatorKind::softmax:
          softmax(op);
          break;
        case OperatorKind::pointwise:
          add(op.name, op.outputs.front(), {}, {}, *op.expression, op.reads);
          break;
        case OperatorKind::merge:
          break;  // of results that are primitives already
        case OperatorKind::reduction:
          add(op.name, op.outputs.front(), op.fold, op.over, *op.expression, op.reads);
          break;
      }
    }
    return std::move(result_);
  }

 private:
  Expression leaf(ArrayId id) const { return Expression::array(result_.array(id).name); }

  void add(const std::string& name, ArrayId output, std::optional<FoldKind> fold, std::vector<AxisId> folded,
           Expression body, const std::vector<ArrayId>& reads) {
    Primitive primitive{.name = name,
                        .op = op_,
                        .output = output,
                        .fold = fold,
                        .folded = std::move(folded),
                        .body = std::move(body),
                        .reads = reads};
    for (const std::string& array : primitive.body.arrays())
      primitive.inputs.push_back(*result_.diagram.find_array(array));
    result_.list.push_back(std::move(primitive));
  }

  // An interior array of the expansion, under the first of these names that is free.
  ArrayId interior(const std::string& name, const Operator& op, std::vector<AxisId> axes) {
    std::string free = name;
    while (result_.diagram.find_array(free)) free += "_" + op.name;
    result_.diagram.arrays.push_back(
        {.name = free, .axes = std::move(axes), .role = ArrayRole::interior, .dtype_key = "l"});
    return static_cast<ArrayId>(static_cast<int>(result_.diagram.arrays.size()) - 1);
  }

  void contraction(const Operator& op) {
    const Array& out = result_.array(op.outputs.front());
    std::vector<AxisId> folded;
    for (const AxisId axis : result_.diagram.axes_of(op))
      if (!out.has(axis)) folded.push_back(axis);
    Expression product = leaf(op.inputs.front());
    for (std::size_t i = 1; i < op.inputs.size(); ++i) product = product * leaf(op.inputs[i]);
    const std::optional<FoldKind> fold = folded.empty() ? std::nullopt : std::optional(FoldKind::sum);
    add(op.name, op.outputs.front(), fold, folded, product, op.reads);
  }

  // P = exp(S - m) / l and, where it is asked for, the log-sum-exp L = m + log(l).
  void softmax(const Operator& op) {
    const ArrayId scores = op.inputs.front();
    std::vector<AxisId> rows = result_.array(scores).axes;
    const std::vector<AxisId> all = rows, along{*op.along};
    rows.erase(std::find(rows.begin(), rows.end(), *op.along));
    const bool exposed = op.outputs.size() > 3;  // a schedule that keeps the running state names it among the outputs
    const ArrayId maximum = exposed ? op.outputs[2] : interior("m", op, rows), weights = interior("A", op, all);
    const ArrayId sum = exposed ? op.outputs[3] : interior("l", op, rows);
    add(op.name + ": maximum", maximum, FoldKind::max, along, leaf(scores), op.reads);
    add(op.name + ": exponential", weights, {}, {}, Expression::call(Function::exp, {leaf(scores) - leaf(maximum)}),
        op.reads);
    add(op.name + ": sum", sum, FoldKind::sum, along, leaf(weights), op.reads);
    add(op.name + ": division", op.outputs.front(), {}, {}, leaf(weights) / leaf(sum), op.reads);
    if (op.outputs.size() > 1)
      add(op.name + ": log-sum-exp", op.outputs[1], {}, {},
          leaf(maximum) + Expression::call(Function::log, {leaf(sum)}), op.reads);
  }

  Primitives result_;
  int op_ = 0;
};

}  // namespace

bool Primitive::folds(AxisId axis) const { return contains(folded, axis); }

int Primitives::producer(ArrayId id) const {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].output == id) return static_cast<int>(i);
  return -1;
}

std::vector<AxisId> Primitives::axes_of(const Primitive& primitive) const {
  std::bitset<64> used;
  const auto add = [&](ArrayId id) {
    for (const AxisId axis : array(id).axes) used.set(index(axis));
  };
  add(primitive.output);
  for (const ArrayId input : primitive.inputs) add(input);
  std::vector<AxisId> found;
  found.reserve(used.count());
  for (std::size_t i = 0; i < diagram.axes.size(); ++i)
    if (used[i]) found.push_back(static_cast<AxisId>(static_cast<int>(i)));
  return found;
}

Diagram primitive_diagram(const Primitives& primitives) {
  Diagram diagram = primitives.diagram;
  diagram.operators.clear();
  for (const Primitive& primitive : primitives.list) {
    const Operator& source = primitives.diagram.operators[static_cast<std::size_t>(primitive.op)];
    if (source.kind == OperatorKind::contraction) {
      diagram.operators.push_back(source);
      continue;
    }
    Operator op{.name = primitive.name,
                .kind = OperatorKind::pointwise,
                .inputs = primitive.inputs,
                .outputs = {primitive.output},
                .expression = primitive.body,
                .reads = primitive.reads};
    if (primitive.fold) op.kind = OperatorKind::reduction, op.fold = *primitive.fold, op.over = primitive.folded;
    diagram.operators.push_back(std::move(op));
  }
  return diagram;
}

Primitives expand(const Diagram& diagram) { return Expander(diagram).run(); }

bool follows_a_fold(const Primitive& fold, const std::function<const Primitive*(ArrayId)>& producer) {
  std::vector<ArrayId> open = fold.inputs;
  std::set<ArrayId> seen;
  while (!open.empty()) {
    const ArrayId id = open.back();
    open.pop_back();
    const Primitive* made = producer(id);
    if (!made || !seen.insert(id).second) continue;
    if (std::any_of(made->folded.begin(), made->folded.end(), [&](AxisId axis) { return fold.folds(axis); }))
      return true;
    open.insert(open.end(), made->inputs.begin(), made->inputs.end());
  }
  return false;
}

}  // namespace tilescope
