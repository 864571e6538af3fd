// The input of a derivation of streamability: folds along one axis, each of which may use earlier ones.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_table.h"
#include "expr/expression.h"

namespace tilescope {

enum class FoldKind { sum, max, min, product };
template <>
struct EnumTable<FoldKind> {
  static constexpr std::array rows{NamedKind{FoldKind::sum, "sum"}, NamedKind{FoldKind::max, "max"},
                                   NamedKind{FoldKind::min, "min"}, NamedKind{FoldKind::product, "product"}};
};

double fold_unit(FoldKind kind);                        // 0, -inf, +inf, 1
double fold_values(FoldKind kind, double a, double b);  // NaN if either is
Expression folded(FoldKind kind, const Expression& a, const Expression& b);

// name = fold over the axis of body. The body may use streamed names, index(axis), size(axis), earlier folds, and names
// that are constant along the axis (every other name). `shape` says which other axes the value has, in any spelling.
struct Fold {
  std::string name;
  FoldKind kind = FoldKind::sum;
  Expression body{};
  std::string shape{};
};

struct Output {
  std::string name;
  Expression value{};
  std::string shape{};
};

// Softmax attention along x: m = max S; z = sum exp(S - m); O = sum exp(S - m)/z*V; outputs O = O and L = m + log(z).
struct Cascade {
  std::string axis{};
  std::vector<std::string> streamed{};  // names with one element per position of the axis
  std::vector<std::string>
      masked{};  // streamed names that may be masked: a fold ignores a position at which its body reads a masked value
  std::vector<Fold> folds{};
  std::vector<Output> outputs{};  // over folds and constants; or over streamed names and constants, without folds
};

}  // namespace tilescope
