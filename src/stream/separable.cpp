#include "stream/separable.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "expr/normal_form.h"
#include "expr/simplify.h"

namespace tilescope {
namespace {

using Kind = Expression::Kind;
using SeparableSum = std::vector<SeparableTerm>;
constexpr std::size_t most_terms = 64;

const Expression one = Expression::number(1);
const Expression zero = Expression::number(0);

Expression times(const Expression& a, const Expression& b) { return a.is_number(1) ? b : b.is_number(1) ? a : a * b; }
Expression plus(const Expression& a, const Expression& b) { return a.is_number(0) ? b : b.is_number(0) ? a : a + b; }

SeparableTerm times(const SeparableTerm& a, const SeparableTerm& b) {
  return {times(a.constant, b.constant), times(a.streamed, b.streamed), times(a.folded, b.folded),
          plus(a.streamed_exponent, b.streamed_exponent), plus(a.folded_exponent, b.folded_exponent)};
}

// Every part through `part`, both exponents times `scale`.
SeparableTerm mapped(const SeparableTerm& term, double scale,
                     const std::function<Expression(const Expression&)>& part) {
  const auto scaled = [&](const Expression& e) { return e.is_number(0) ? e : Expression::number(scale) * e; };
  const auto unless_one = [&](const Expression& e) { return e.is_number(1) ? e : part(e); };
  return {unless_one(term.constant), unless_one(term.streamed), unless_one(term.folded), scaled(term.streamed_exponent),
          scaled(term.folded_exponent)};
}

bool has_streamed(const SeparableTerm& t) { return !t.streamed.is_number(1) || !t.streamed_exponent.is_number(0); }
bool has_folded(const SeparableTerm& t) { return !t.folded.is_number(1) || !t.folded_exponent.is_number(0); }

// Joins terms that `key` calls alike, with `join` adding the second to the first.
SeparableSum joined(const SeparableSum& terms, const std::function<std::string(const SeparableTerm&)>& key,
                    const std::function<void(SeparableTerm&, const SeparableTerm&)>& join) {
  SeparableSum result;
  std::vector<std::string> keys;
  for (const SeparableTerm& term : terms) {
    const std::string its = key(term);
    const auto same = std::find(keys.begin(), keys.end(), its);
    if (same == keys.end()) {
      result.push_back(term);
      keys.push_back(its);
    } else {
      join(result[static_cast<std::size_t>(same - keys.begin())], term);
    }
  }
  return result;
}

std::string exponents_key(const SeparableTerm& term) {
  return order_free_key(term.streamed_exponent) + "|" + order_free_key(term.folded_exponent) + "|";
}

// Parts simplified, like terms joined: first those with the same streamed part, then those with the same folded one.
SeparableSum collected(SeparableSum terms) {
  for (SeparableTerm& term : terms)
    term = {simplify(term.constant), simplify(term.streamed), simplify(term.folded), simplify(term.streamed_exponent),
            simplify(term.folded_exponent)};
  terms = joined(
      terms, [](const SeparableTerm& t) { return exponents_key(t) + order_free_key(t.streamed); },
      [](SeparableTerm& to, const SeparableTerm& from) {
        to.folded = simplify(to.constant * to.folded + from.constant * from.folded);
        to.constant = one;
      });
  std::erase_if(terms, [](const SeparableTerm& t) { return t.folded.is_number(0) || t.constant.is_number(0); });
  return joined(
      terms, [](const SeparableTerm& t) { return exponents_key(t) + order_free_key(t.folded); },
      [](SeparableTerm& to, const SeparableTerm& from) {
        to.streamed = simplify(to.constant * to.streamed + from.constant * from.streamed);
        to.constant = one;
      });
}

std::string noun(const Expression& expression) {
  return is_sum(expression) ? "sum" : is_product(expression) ? "product" : "value";
}

class Separator {
 public:
  explicit Separator(const StreamRoles& roles) : roles_(roles) {}

  SeparableSum terms(const Expression& e) {
    const auto operands = e.operands();
    if (!roles_.varies(e) && !roles_.depends(e)) return {SeparableTerm{.constant = e}};
    switch (e.kind()) {
      case Kind::multiply:
        return product(terms(operands[0]), terms(operands[1]), e);
      case Kind::divide:
        return product(terms(operands[0]), {inverse(single(operands[1], "division by", e))}, e);
      case Kind::negate:
        return product({SeparableTerm{.constant = Expression::number(-1)}}, terms(operands[0]), e);
      case Kind::add:
      case Kind::subtract:
        return roles_.mixes(e) ? sum(e) : pure(e);
      case Kind::call:
        return call(e);
      default:
        return pure(e);
    }
  }

  AdditiveForm additive(const Expression& argument, const std::string& what, const Expression& whole) {
    AdditiveForm form;
    for (const SeparableTerm& term : collected(terms(argument))) {
      if (has_streamed(term) && has_folded(term)) fail(whole, what, argument);
      const Expression value = times(term.constant, times(term.kept(), term.moved()));
      Expression& side = has_folded(term) ? form.folded : form.streamed;
      side = plus(side, value);
    }
    form.streamed = simplify(form.streamed), form.folded = simplify(form.folded);
    form.assumptions = assumptions;
    return form;
  }

  std::vector<std::string> assumptions{};

 private:
  [[noreturn]] void fail(const Expression& whole, const std::string& what, const Expression& argument) const {
    std::string streamed = "index(" + roles_.axis + ")", fold;
    for (const std::string& name : argument.arrays()) {
      if (roles_.streamed.contains(name) && streamed.starts_with("index(")) streamed = name;
      if (roles_.folds.contains(name) && fold.empty()) fold = name;
    }
    const std::string size = "size(" + roles_.axis + ")";
    const Expression shown =
        roles_.count.empty() ? whole : substitute(whole, roles_.count, Expression::size(roles_.axis));
    std::string text = to_text(shown);
    if (text.size() > 100) text = text.substr(0, 97) + "...";
    throw Inseparable{fmt::format("{}: {} a {} that mixes {}, which varies along {}, with {}", text, what,
                                  noun(argument), streamed, roles_.axis,
                                  fold == roles_.count ? size + ", which grows with the stream" : "the fold " + fold)};
  }

  SeparableSum pure(const Expression& e) const {
    return {roles_.varies(e) ? SeparableTerm{.streamed = e} : SeparableTerm{.folded = e}};
  }

  SeparableSum sum(const Expression& e) {
    SeparableSum result = terms(e.operands()[0]);
    SeparableSum right = terms(e.operands()[1]);
    if (e.kind() == Kind::subtract)
      for (SeparableTerm& term : right) term.constant = times(Expression::number(-1), term.constant);
    result.insert(result.end(), right.begin(), right.end());
    return bounded(std::move(result), e);
  }

  static SeparableSum bounded(SeparableSum terms, const Expression& e) {
    if (terms.size() > most_terms) terms = collected(std::move(terms));
    if (terms.size() <= most_terms) return terms;
    throw Inseparable{
        fmt::format("{}...: written out it has more than {} terms", to_text(e).substr(0, 60), most_terms)};
  }

  SeparableSum product(const SeparableSum& left, const SeparableSum& right, const Expression& e) const {
    SeparableSum result;
    for (const SeparableTerm& a : left)
      for (const SeparableTerm& b : right) result.push_back(times(a, b));
    return bounded(std::move(result), e);
  }

  static SeparableTerm inverse(const SeparableTerm& term) {
    return mapped(term, -1, [](const Expression& e) { return one / e; });
  }

  // The argument as one term, or the reason why it is none.
  SeparableTerm single(const Expression& argument, const std::string& what, const Expression& whole) {
    if (!roles_.mixes(argument)) return terms(argument).front();  // nothing to distribute: exactly one
    const SeparableSum all = collected(terms(argument));
    if (all.size() != 1) fail(whole, what, argument);
    return all[0];
  }

  SeparableSum power(const Expression& base, int exponent, const Expression& e) {
    const SeparableSum all = roles_.mixes(base) ? collected(terms(base)) : terms(base);
    if (all.size() == 1)
      return {mapped(all[0], exponent, [&](const Expression& part) { return Expression::pow(part, exponent); })};
    if (exponent < 0) fail(e, "division by", base);
    SeparableSum result{SeparableTerm{}};
    for (int i = 0; i < exponent; ++i) result = collected(product(result, all, e));
    return result;
  }

  SeparableSum call(const Expression& e) {
    const Expression& argument = e.operands()[0];
    const Function function = e.function();
    if (function == Function::square) return power(argument, 2, e);
    if (function == Function::pow) return power(argument, static_cast<int>(e.operands()[1].value()), e);
    if (function == Function::exp) {
      if (!roles_.depends(argument)) return {SeparableTerm{.streamed_exponent = argument}};
      if (!roles_.varies(argument)) return {SeparableTerm{.folded_exponent = argument}};
      const AdditiveForm form = additive(argument, "exp of", e);
      return {SeparableTerm{.streamed_exponent = form.streamed, .folded_exponent = form.folded}};
    }
    if (!roles_.mixes(e)) return pure(e);
    if (function == Function::log || function == Function::sqrt || function == Function::rsqrt ||
        function == Function::abs)
      return of_product(e, single(argument, to_string(function) + " of", e));
    const std::string what = to_string(function) + " of";
    if (roles_.mixes(argument)) fail(e, what, argument);
    fail(e, what, e);  // max(S, m): the mixture is of the two arguments
  }

  // log, sqrt, rsqrt and abs of a product are a sum or a product over its parts.
  SeparableSum of_product(const Expression& e, const SeparableTerm& term) {
    const Function function = e.function();
    if (function != Function::abs && !(term.streamed.is_number(1) && term.constant.is_number(1)) &&
        !term.folded.is_number(1)) {
      assumptions.push_back(fmt::format("{} is split: assumes {} > 0 and {} > 0", to_text(e),
                                        to_text(simplify(times(term.constant, term.streamed))), to_text(term.folded)));
    }
    const auto apply = [&](const Expression& part) { return Expression::call(function, {part}); };
    if (function != Function::log)
      return {mapped(term, function == Function::abs ? 1 : function == Function::sqrt ? 0.5 : -0.5, apply)};
    SeparableSum result;
    if (!term.constant.is_number(1)) result.push_back({.constant = apply(term.constant)});
    if (!term.streamed.is_number(1)) result.push_back({.streamed = apply(term.streamed)});
    if (!term.folded.is_number(1)) result.push_back({.folded = apply(term.folded)});
    for (const Expression& exponent : {term.streamed_exponent, term.folded_exponent})
      if (!exponent.is_number(0)) {
        const SeparableSum more = terms(exponent);
        result.insert(result.end(), more.begin(), more.end());
      }
    return result;
  }

  const StreamRoles& roles_;
};

}  // namespace

bool StreamRoles::varies(const Expression& e) const {
  if (e.kind() == Kind::array) return streamed.contains(e.name());
  if (e.kind() == Kind::index) return e.name() == axis;
  return std::any_of(e.operands().begin(), e.operands().end(), [&](const Expression& part) { return varies(part); });
}

bool StreamRoles::depends(const Expression& e) const {
  if (e.kind() == Kind::array) return folds.contains(e.name());
  return std::any_of(e.operands().begin(), e.operands().end(), [&](const Expression& part) { return depends(part); });
}

Expression SeparableTerm::kept() const {
  if (streamed_exponent.is_number(0)) return streamed;
  return times(Expression::call(Function::exp, {plus(streamed_exponent, folded_exponent)}), streamed);
}

Expression SeparableTerm::moved() const {
  if (!streamed_exponent.is_number(0) || folded_exponent.is_number(0)) return folded;
  return times(folded, Expression::call(Function::exp, {folded_exponent}));
}

std::variant<SeparableForm, Inseparable> separate(const Expression& expression, const StreamRoles& roles) {
  Separator separator(roles);
  try {
    SeparableForm form{collected(separator.terms(simplify(expression))), {}};
    form.assumptions = std::move(separator.assumptions);
    return form;
  } catch (const Inseparable& reason) {
    return reason;
  }
}

std::variant<AdditiveForm, Inseparable> separate_additively(const Expression& expression, const StreamRoles& roles,
                                                            const std::string& what) {
  Separator separator(roles);
  try {
    const Expression simple = simplify(expression);
    return separator.additive(simple, what, simple);
  } catch (const Inseparable& reason) {
    return reason;
  }
}

}  // namespace tilescope
