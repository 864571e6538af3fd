#include <fmt/format.h>

#include "expr/expression.h"

namespace tilescope {
namespace {

using Kind = Expression::Kind;

// Operator precedence of a node: sums 1, products 2, signs 3, everything else 4.
int strength(const Expression& expression) {
  switch (expression.kind()) {
    case Kind::add:
    case Kind::subtract:
      return 1;
    case Kind::multiply:
    case Kind::divide:
      return 2;
    case Kind::negate:
      return 3;
    case Kind::number:
      return expression.value() < 0 ? 3 : 4;
    default:
      return 4;
  }
}

std::string_view symbol(Kind kind) {
  switch (kind) {
    case Kind::add:
      return " + ";
    case Kind::subtract:
      return " - ";
    case Kind::multiply:
      return "*";
    default:
      return "/";
  }
}

void write(const Expression& expression, int least, std::string& out) {
  if (strength(expression) < least) {
    out += '(';
    write(expression, 0, out);
    out += ')';
    return;
  }
  const auto operands = expression.operands();
  switch (expression.kind()) {
    case Kind::number:
      out += fmt::format("{}", expression.value());
      return;
    case Kind::array:
      out += expression.name();
      return;
    case Kind::index:
      out += "index(" + expression.name() + ")";
      return;
    case Kind::size:
      out += "size(" + expression.name() + ")";
      return;
    case Kind::negate:
      out += '-';
      return write(operands[0], 3, out);
    case Kind::call:
      out += to_string(expression.function());
      for (std::size_t i = 0; i < operands.size(); ++i) {
        out += i == 0 ? "(" : ", ";
        write(operands[i], 0, out);
      }
      out += ')';
      return;
    default:  // operators group to the left
      write(operands[0], strength(expression), out);
      out += symbol(expression.kind());
      write(operands[1], strength(expression) + 1, out);
  }
}

}  // namespace

std::string to_text(const Expression& expression) {
  std::string out;
  write(expression, 0, out);
  return out;
}

}  // namespace tilescope
