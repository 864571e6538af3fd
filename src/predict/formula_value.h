// Tests only: the formula of a term as a number.
#pragma once

#include <doctest/doctest.h>

#include <cctype>
#include <map>
#include <string>

#include "diagram/diagram.h"
#include "predict/explain/json.h"

namespace tilescope {

using FormulaNames = std::map<std::string, std::int64_t>;

// Evaluates a formula such as "ceil(q_len/128)", "8*ceil(group/8)", "(ceil(kv_len/256) - 1)" or "2" by recursive
// descent.
class FormulaEvaluator {
 public:
  FormulaEvaluator(std::string text, const FormulaNames& names) : text_(std::move(text)), names_(names) {}
  std::int64_t value() {
    const std::int64_t result = sum();
    REQUIRE_MESSAGE(at_ == text_.size(), text_);
    return result;
  }

 private:
  bool take(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::int64_t sum() {
    std::int64_t left = product();
    while (true) {
      if (take('+')) left += product();
      else if (take('-')) left -= product();
      else return left;
    }
  }
  std::int64_t product() {
    std::int64_t left = atom();
    while (take('*')) left *= atom();
    return left;
  }
  std::int64_t atom() {
    if (take('(')) {
      const std::int64_t inner = sum();
      REQUIRE(take(')'));
      return inner;
    }
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    std::string word;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      word += text_[at_++];
    REQUIRE_MESSAGE(!word.empty(), text_);
    if (word == "ceil") {
      REQUIRE(take('('));
      const std::int64_t above = sum_until_slash();
      const std::int64_t below = sum();
      REQUIRE(take(')'));
      return (above + below - 1) / below;
    }
    if (std::isdigit(static_cast<unsigned char>(word[0]))) return std::stoll(word);
    REQUIRE_MESSAGE(names_.contains(word), word);
    return names_.at(word);
  }
  std::int64_t sum_until_slash() {
    const std::int64_t above = sum();
    REQUIRE(take('/'));
    return above;
  }

  std::string text_;
  const FormulaNames& names_;
  std::size_t at_ = 0;
};

inline FormulaNames sizes_of(const Diagram& diagram, const Workload& workload) {
  FormulaNames names;
  for (const Axis& axis : diagram.axes) names[axis.size] = axis.size_in(workload);
  return names;
}

// Checks that the formula of a term in JSON evaluates to its bytes. False: it is not one of sizes and tiles only.
// `block_warps`: of those that fetch an operand, one or all; 0: any number does.
inline bool check_formula(const Json& term, const FormulaNames& names, std::int64_t block_warps) {
  const auto text = term["formula"].get<std::string>();
  const std::size_t times = text.rfind(" x ");
  if (times == std::string::npos || !text.ends_with(" B")) return false;
  if (text.find("sum of") != std::string::npos || text.find("tensor_flop") != std::string::npos ||
      text.find("waves") != std::string::npos || text.find("live") != std::string::npos)
    return false;
  std::string product = text.substr(0, times);
  const std::size_t by = product.find(" * warps that need it");
  const bool by_warps = by != std::string::npos;
  if (by_warps) product.erase(by);
  const std::int64_t width = std::stoll(text.substr(times + 3)),
                     value = FormulaEvaluator(product, names).value() * width;
  const std::int64_t bytes = term["bytes"].get<std::int64_t>();
  CAPTURE(text);
  CAPTURE(term["island"]);
  CAPTURE(term["boundary"]);
  CAPTURE(term["direction"]);
  CAPTURE(term["array"]);
  if (by_warps) CHECK((bytes == value || (block_warps > 0 ? bytes == value * block_warps : bytes % value == 0)));
  else CHECK(bytes == value);
  return true;
}

}  // namespace tilescope
