// Equality of rational expressions that simplify() alone does not prove: (a*c + b*c)/(d*c) and (a + b)/d.
#pragma once

#include "expr/expression.h"

namespace tilescope {

// Writes both as quotients of expanded sums, over exponentials and other calls as indeterminates, and compares
// crosswise; then the same for exp of both. False proves nothing. Gives up beyond 256 terms.
bool proven_equal_as_quotients(const Expression& a, const Expression& b);

}  // namespace tilescope
