// The value of an expression at one point, in double precision.
#pragma once

#include <string>

#include "expr/expression.h"

namespace tilescope {

// Where the values of names come from. An implementation decides what an unknown name is (throw, or NaN).
class Lookup {
 public:
  virtual ~Lookup() = default;
  virtual double array(const std::string& name) const = 0;
  virtual double index(const std::string& axis) const = 0;
  virtual double size(const std::string& axis) const = 0;
};

// IEEE arithmetic throughout: log(0) is -inf, 0/0 is NaN; max and min of a NaN are NaN. Allocates nothing itself.
double evaluate(const Expression& expression, const Lookup& lookup);

// One function of up to two values (the second is ignored by functions of one).
double apply(Function function, double a, double b = 0);

}  // namespace tilescope
