#include "draw/formula.h"

#include <cctype>
#include <vector>

#include "draw/canvas.h"

namespace tilescope::draw {
namespace {

enum class Kind { name, number, sign };
struct Token {
  Kind kind;
  std::string text;
};

std::vector<Token> tokens_of(const std::string& formula) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < formula.size();) {
    const auto is = [&](int (*test)(int)) { return test(static_cast<unsigned char>(formula[i])) != 0; };
    if (is(std::isspace)) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    if (is(std::isalpha)) {
      while (i < formula.size() && (is(std::isalnum) || formula[i] == '_' || formula[i] == '.')) ++i;
      tokens.push_back({Kind::name, formula.substr(start, i - start)});
    } else if (is(std::isdigit)) {
      while (i < formula.size() && (is(std::isdigit) || formula[i] == '.')) ++i;
      tokens.push_back({Kind::number, formula.substr(start, i - start)});
    } else {
      tokens.push_back({Kind::sign, std::string(1, formula[i++])});
    }
  }
  return tokens;
}

// "q_len" is q with the subscript len.
std::string name_html(const std::string& name) {
  const std::size_t at = name.find_first_of("_.");
  if (at == std::string::npos || at == 0) return "<mi>" + xml_text(name) + "</mi>";
  return "<msub><mi>" + xml_text(name.substr(0, at)) + "</mi><mi>" + xml_text(name.substr(at + 1)) + "</mi></msub>";
}

// Reads items up to the end or a closing bracket; an item is a name, a number, a sign or what stands in brackets.
class Reader {
 public:
  explicit Reader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::string all() {
    std::string html;
    while (at_ < tokens_.size()) html += item();
    return html;
  }

 private:
  bool next_is(const char* text) const { return at_ < tokens_.size() && tokens_[at_].text == text; }

  std::string item() {
    std::string html = base();
    if (!next_is("^")) return html;
    ++at_;
    return "<msup><mrow>" + html + "</mrow><mrow>" + exponent() + "</mrow></msup>";
  }

  std::string exponent() {
    std::string sign;
    if (next_is("-")) sign = "<mo>−</mo>", ++at_;
    if (!next_is("(")) return sign + (at_ < tokens_.size() ? base() : "");
    return sign + inside();
  }

  // Of a bracket, without it.
  std::string inside() {
    std::string html;
    ++at_;
    while (at_ < tokens_.size() && !next_is(")")) html += item();
    if (next_is(")")) ++at_;
    return html;
  }

  std::string base() {
    const Token token = tokens_[at_];
    if (token.text == "(") return "<mrow><mo>(</mo>" + inside() + "<mo>)</mo></mrow>";
    ++at_;
    if (token.kind == Kind::name) return name_html(token.text);
    if (token.kind == Kind::number) return "<mn>" + token.text + "</mn>";
    if (token.text == "*") return "<mo>·</mo>";
    if (token.text == "-") return "<mo>−</mo>";
    return "<mo>" + xml_text(token.text) + "</mo>";
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::string math_ml(const std::string& formula) {
  return "<math display=\"block\" tabindex=\"0\"><mrow>" + Reader(tokens_of(formula)).all() + "</mrow></math>\n";
}

}  // namespace tilescope::draw
