// Flattened sums and products, the working form of simplify().
#pragma once

#include <string>
#include <vector>

#include "expr/expression.h"
#include "expr/ratio.h"

namespace tilescope {

// constant * product of base^exponent
struct FlatProduct {
  struct Power {
    Expression base;
    int exponent;
    std::string key;
  };
  Ratio constant{};
  std::vector<Power> factors{};

  void multiply(double value, int exponent);  // a value that cannot be folded in becomes a factor
  void multiply(const Expression& base, int exponent, std::size_t place = std::string::npos);  // place: of a new factor
  void join_roots();  // sqrt(x)*rsqrt(x) and sqrt(x)*sqrt(x)
  Expression rebuilt() const;
};

// Sum of products that differ in their factors.
struct FlatSum {
  struct Summand {
    FlatProduct product;
    std::string key;  // of the factors, not of the constant
  };
  std::vector<Summand> terms{};

  void add(const FlatProduct& product);
  Expression rebuilt() const;
};

bool is_sum(const Expression& expression);      // a + b or a - b
bool is_product(const Expression& expression);  // a*b, a/b, -a, square(a), pow(a, n)

// A text that two simplified expressions share when they differ only in the order of terms and factors.
std::string order_free_key(const Expression& simplified);

}  // namespace tilescope
