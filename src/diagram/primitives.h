// A diagram in primitives: every operator becomes maps and folds of one form,
//
//   output[axes] = fold over `folded` of body(inputs)        (no fold: a map)
//
// A softmax is max, exp, sum and a division; a contraction is a sum of products (Napkin, arXiv 2412.03317, section 2).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagram/diagram.h"

namespace tilescope {

struct Primitive {
  std::string name;
  int op = 0;  // position in Diagram::operators of the operator it comes from
  ArrayId output{};
  std::optional<FoldKind> fold{};
  std::vector<AxisId> folded{};
  Expression body{};
  std::vector<ArrayId> inputs{};  // arrays of the body
  std::vector<ArrayId> reads{};   // places, not values

  bool folds(AxisId axis) const;
};

struct Primitives {
  Diagram diagram;  // the source with the interior arrays of the expansion added behind its own
  std::vector<Primitive> list;

  const Array& array(ArrayId id) const { return diagram.array(id); }
  int producer(ArrayId id) const;  // position in `list`, -1: an input
  // Axes of the body and of the output together, in declaration order.
  std::vector<AxisId> axes_of(const Primitive& primitive) const;
};

Primitives expand(const Diagram& diagram);

// Whether the fold uses, directly or not, another fold over one of its axes: then its witness says how it is streamed.
// `producer` gives the primitive that makes an array in the kernel, or nullptr.
bool follows_a_fold(const Primitive& fold, const std::function<const Primitive*(ArrayId)>& producer);

// The diagram whose operators are the primitives, one for one: the finest pieces that may share a kernel or not.
Diagram primitive_diagram(const Primitives& primitives);

}  // namespace tilescope
