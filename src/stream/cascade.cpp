#include "stream/cascade.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilescope {

double fold_unit(FoldKind kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return kind == FoldKind::sum ? 0 : kind == FoldKind::max ? -infinity : kind == FoldKind::min ? infinity : 1;
}

double fold_values(FoldKind kind, double a, double b) {
  if (kind == FoldKind::sum) return a + b;
  if (kind == FoldKind::product) return a * b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return kind == FoldKind::max ? std::max(a, b) : std::min(a, b);
}

Expression folded(FoldKind kind, const Expression& a, const Expression& b) {
  if (kind == FoldKind::sum) return a + b;
  if (kind == FoldKind::product) return a * b;
  return Expression::call(kind == FoldKind::max ? Function::max : Function::min, {a, b});
}

}  // namespace tilescope
