// Cascades that several tests of streamability use.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "expr/parse.h"
#include "stream/witness.h"

namespace tilescope {

inline Expression formula(const std::string& text) {
  const auto result = parse_expression(text);
  if (const auto* error = std::get_if<ExpressionError>(&result)) FAIL(text << ": " << error->message);
  return std::get<Expression>(result);
}

inline Fold sum_of(const std::string& name, const std::string& body, const std::string& shape = "") {
  return {name, FoldKind::sum, formula(body), shape};
}
inline Fold max_of(const std::string& name, const std::string& body, const std::string& shape = "") {
  return {name, FoldKind::max, formula(body), shape};
}
inline Output output(const std::string& name, const std::string& value, const std::string& shape = "") {
  return {name, formula(value), shape};
}

inline Witness accepted(const Cascade& cascade, const DeriveOptions& options = {}) {
  auto result = derive_witness(cascade, options);
  if (const auto* refusal = std::get_if<Refusal>(&result)) FAIL(refusal->fold << ": " << refusal->reason);
  return std::get<Witness>(std::move(result));
}

inline Refusal refused(const Cascade& cascade, const DeriveOptions& options = {}) {
  const auto result = derive_witness(cascade, options);
  REQUIRE(std::holds_alternative<Refusal>(result));
  return std::get<Refusal>(result);
}

// Expanded into primitives: softmax(S) contracted with V along x, and its log-sum-exp.
inline Cascade attention(const std::string& scores = "S") {
  return {"x",
          {"S", "V"},
          {},
          {max_of("m", scores, "q"), sum_of("z", "exp(" + scores + " - m)", "q"),
           sum_of("O", "exp(" + scores + " - m)/z*V", "q e")},
          {output("O", "O", "q e"), output("L", "m + log(z)", "q")}};
}

}  // namespace tilescope
