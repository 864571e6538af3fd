// Reads the text of an expression.
//
//   sum     = product { ("+" | "-") product }
//   product = sign { ("*" | "/") sign }
//   sign    = "-" sign | number | name | "(" sum ")" | function "(" sum {"," sum} ")" | ("index" | "size") "(" axis ")"
//
// Functions: exp log sqrt rsqrt tanh sigmoid abs square of one value, max min of two, pow(value, integer).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "expr/expression.h"

namespace tilescope {

struct ExpressionError {
  std::size_t position = 0;  // byte of the text, from 0, where the finding is
  std::string message{};     // one line: expectation, place (counted from 1), finding, remedy
};

inline constexpr std::size_t longest_expression = 4096;  // bytes
inline constexpr int deepest_expression = 64;            // parentheses, calls and signs inside one another

std::variant<Expression, ExpressionError> parse_expression(std::string_view text);

}  // namespace tilescope
