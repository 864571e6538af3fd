// Rewriting to a smaller equal expression.
#pragma once

#include "expr/expression.h"

namespace tilescope {

// Sums and products are flattened, like terms and like factors collected, constants folded, and
//   exp(a)*exp(b) = exp(a + b)   exp(a)/exp(b) = exp(a - b)   exp(a + n*log(b)) = exp(a)*b^n   log(exp(a)*b) = a +
//   log(b) x - x = 0   x/x = 1   0*x = 0   sqrt(x)*sqrt(x) = x   max(x, x) = x   tanh(0) = 0 ...
// Sound in this sense: wherever `expression` has a finite value, the result has the same (up to rounding of folded
// constants); where it has none (0/0, log of a negative number) the result may have one. A quotient or root of
// constants is folded only when it is exact, so 1/3 stays 1/3.
Expression simplify(const Expression& expression);

// True when rewriting shows that both are the same function wherever both have finite values. False proves nothing.
bool proven_equal(const Expression& a, const Expression& b);

}  // namespace tilescope
