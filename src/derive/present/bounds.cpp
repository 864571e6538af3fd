#include "derive/present/bounds.h"

#include <algorithm>

#include "base/contains.h"
#include "optimum/lower_bound.h"

namespace tilescope {
namespace {

// A contraction's axes by who has them: m only the first input and the output, n only the second, k folded, the rest
// batch.
struct ContractionShape {
  double batch = 1, m = 1, n = 1, k = 1;
};

ContractionShape shape_of(const Diagram& diagram, const Operator& op, const Workload& workload) {
  ContractionShape shape;
  for (const AxisId axis : diagram.axes_of(op)) {
    const double size = static_cast<double>(diagram.axes[index(axis)].size_in(workload));
    const bool first = diagram.array(op.inputs[0]).has(axis), second = diagram.array(op.inputs[1]).has(axis),
               out = diagram.array(op.outputs[0]).has(axis);
    (!out ? shape.k : first && second ? shape.batch : first ? shape.m : shape.n) *= size;
  }
  return shape;
}

DiagramBound of(const LowerBound& bound, const std::string& holds_for, double times, bool whole) {
  return {.name = bound.name,
          .holds_for = holds_for,
          .source = bound.source,
          .values = bound.values * times,
          .asymptotic = bound.asymptotic,
          .whole = whole};
}

const Operator* producer(const Diagram& diagram, ArrayId id) {
  for (const Operator& op : diagram.operators)
    if (contains(op.outputs, id)) return &op;
  return nullptr;
}

}  // namespace

std::vector<DiagramBound> bounds_of(const Derivation& derivation, const Diagram& diagram) {
  std::vector<DiagramBound> bounds{{.name = "compulsory",
                                    .holds_for = "every schedule",
                                    .source = "inputs read once, outputs written once",
                                    .values = derivation.compulsory,
                                    .whole = true}};
  const double memory = derivation.request.memory;
  if (!derivation.request.widths.empty() || derivation.request.mask.masks())
    return bounds;  // stated for values and full score matrices
  const Workload& workload = derivation.request.workload;
  for (const Operator& op : diagram.operators) {
    if (op.kind != OperatorKind::contraction) continue;
    const ContractionShape shape = shape_of(diagram, op, workload);
    const bool alone = diagram.operators.size() == 1;
    bounds.push_back(of(matmul_bound({shape.m, shape.n, shape.k}, memory),
                        alone ? "every schedule" : "contraction '" + op.name + "' by itself", shape.batch, alone));
    const Operator* softmax = producer(diagram, op.inputs[0]);
    if (!softmax || softmax->kind != OperatorKind::softmax) continue;
    const Operator* scores = producer(diagram, softmax->inputs.front());
    if (!scores || scores->kind != OperatorKind::contraction) continue;
    const ContractionShape before = shape_of(diagram, *scores, workload);
    for (const LowerBound& bound : {attention_large_memory({before.m, before.n, before.k, shape.n}, memory),
                                    attention_order({before.m, before.n, before.k, shape.n}, memory)})
      bounds.push_back(of(bound, "every schedule", before.batch, true));
  }
  return bounds;
}

}  // namespace tilescope
