// Separable normal form: a body as a sum of terms, each the product of a part that varies along the axis and a part
// that does not.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "expr/expression.h"

namespace tilescope {

// The names that vary along the axis and the names that are folds over it; every other name is constant.
struct StreamRoles {
  std::string axis;
  std::set<std::string, std::less<>> streamed;
  std::set<std::string, std::less<>> folds;
  std::string count;  // the fold that equals size(axis); empty if there is none

  bool varies(const Expression& expression) const;   // uses a streamed name or index(axis)
  bool depends(const Expression& expression) const;  // uses a fold
  bool mixes(const Expression& expression) const { return varies(expression) && depends(expression); }
};

// constant * streamed * folded * exp(streamed_exponent + folded_exponent). Exponentials are kept separate because
// exp(S) may overflow where exp(S - m) does not: the two parts of a mixed exponent are never separated.
struct SeparableTerm {
  Expression constant = Expression::number(1);
  Expression streamed = Expression::number(1);
  Expression folded = Expression::number(1);
  Expression streamed_exponent{};
  Expression folded_exponent{};

  Expression kept() const;   // streamed * exp(both exponents), or streamed * exp(streamed_exponent)
  Expression moved() const;  // folded, times exp(folded_exponent) if the exponent has no streamed part
};

struct SeparableForm {
  std::vector<SeparableTerm> terms{};      // like terms joined: its size is the rank
  std::vector<std::string> assumptions{};  // "sqrt(S*z) is split: assumes S >= 0 and z >= 0"
};

struct Inseparable {
  std::string reason;  // "sigmoid(S - mu): sigmoid of a sum that mixes S, which varies along x, with the fold mu"
};

// Distributes products, powers and quotients by a single term; splits exp of sums and sqrt, rsqrt, log, abs of single
// terms. At most 64 terms.
std::variant<SeparableForm, Inseparable> separate(const Expression& expression, const StreamRoles& roles);

// The additive form G + H that max and min need: a streamed part and a part free of the axis. A refusal reads
// "S*m: <what> a product that mixes ...".
struct AdditiveForm {
  Expression streamed;
  Expression folded;
  std::vector<std::string> assumptions{};
};
std::variant<AdditiveForm, Inseparable> separate_additively(const Expression& expression, const StreamRoles& roles,
                                                            const std::string& what);

}  // namespace tilescope
