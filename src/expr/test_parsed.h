// For tests: an expression from its text, which must be right.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "expr/expression.h"
#include "expr/parse.h"

namespace tilescope {

inline Expression parsed(const std::string& text) {
  const auto result = parse_expression(text);
  if (const auto* error = std::get_if<ExpressionError>(&result)) FAIL(text << ": " << error->message);
  return std::get<Expression>(result);
}

}  // namespace tilescope
