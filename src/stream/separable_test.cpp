// Compares the separable normal form with the value of the original expression.
#include "stream/separable.h"

#include <cmath>

#include "base/test_seed.h"
#include "expr/evaluate.h"
#include "expr/random_expression.h"
#include "expr/simplify.h"
#include "stream/test_cascades.h"

namespace tilescope::separable_test {
namespace {

StreamRoles roles() { return {.axis = "x", .streamed = {"a", "b"}, .folds = {"c", "d"}, .count = ""}; }

SeparableForm form_of(const std::string& text) {
  auto form = separate(formula(text), roles());
  if (const auto* reason = std::get_if<Inseparable>(&form)) FAIL(text << ": " << reason->reason);
  return std::get<SeparableForm>(std::move(form));
}

struct Point : Lookup {
  std::map<std::string, double> values{};
  double array(const std::string& name) const override { return values.at(name); }
  double index(const std::string&) const override { return 3; }
  double size(const std::string&) const override { return 7; }
};

bool moderate(const Expression& e, const Point& point) {
  const double value = std::abs(evaluate(e, point));
  if (!(value < 1e3 && (value > 1e-2 || e.kind() == Expression::Kind::number))) return false;
  for (const Expression& part : e.operands())
    if (!moderate(part, point)) return false;
  return true;
}

}  // namespace

TEST_CASE("a term keeps the factors that vary and moves the others out, and a mixed exponential is not split") {
  const SeparableForm form = form_of("3*exp(a - c)*b/d*sqrt(k)");
  REQUIRE(form.terms.size() == 1);
  CHECK(to_text(form.terms[0].constant) == "3*sqrt(k)");
  CHECK(to_text(simplify(form.terms[0].kept())) == "exp(a - c)*b");
  CHECK(to_text(form.terms[0].moved()) == "1/d");
}

TEST_CASE("the rank is the number of terms after like terms are combined") {
  CHECK(form_of("(a - c)*(a - c)").terms.size() == 3);
  CHECK(form_of("pow(a - c, 4)").terms.size() == 5);
  CHECK(form_of("a*c + b*c").terms.size() == 1);              // (a + b)*c
  CHECK(form_of("a*c + a*d").terms.size() == 1);              // a*(c + d)
  CHECK(form_of("(a + b)*c*(a + b)/d").terms.size() == 1);    // a sum whose terms do not mix is not split
  CHECK(form_of("(a - c)*(a + c) + c*c").terms.size() == 1);  // the folds cancel
  CHECK(form_of("square(a*c + b*c)").terms.size() == 1);
  CHECK(form_of("1/(a*c + b*c)").terms.size() == 1);
  CHECK(form_of("log(exp(a - c)*b/d)").terms.size() == 2);  // a + log(b), -c + log(1/d)
  CHECK(form_of("exp(a - c)*(b - d)").terms.size() == 2);
}

TEST_CASE("separated terms add up to the original expression, and no part mixes the two kinds of values") {
  std::mt19937_64 random(test_seed());
  const StreamRoles who = roles();
  std::uniform_real_distribution<double> draw(0.3, 2);
  int compared = 0, mixed = 0, refusals = 0;
  for (int i = 0; i < 20000; ++i) {
    const Expression e = random_expression(random, 4);
    const auto result = separate(e, who);
    if (const auto* reason = std::get_if<Inseparable>(&result)) {
      CHECK_MESSAGE(who.mixes(e), to_text(e) << ": " << reason->reason);
      ++refusals;
      continue;
    }
    const SeparableForm& form = std::get<SeparableForm>(result);
    Point point;
    for (const char* name : {"a", "b", "c", "d"}) point.values[name] = draw(random);
    double total = 0, magnitude = 0;
    bool usable = moderate(e, point);
    for (const SeparableTerm& term : form.terms) {
      CHECK(!who.depends(term.streamed));
      CHECK(!who.depends(term.streamed_exponent));
      CHECK(!who.varies(term.folded));
      CHECK(!who.varies(term.folded_exponent));
      CHECK(!who.varies(term.moved()));
      CHECK((!who.varies(term.constant) && !who.depends(term.constant)));
      const double value = evaluate(term.constant * term.kept() * term.moved(), point);
      total += value, magnitude += std::abs(value);
    }
    usable = usable && magnitude < 1e6 && (form.assumptions.empty() || std::isfinite(total));
    if (!usable) continue;
    CHECK_MESSAGE(std::abs(total - evaluate(e, point)) <= 1e-9 * std::max(1.0, magnitude), to_text(e));
    ++compared;
    mixed += who.mixes(e);
  }
  CHECK(compared > 1000);
  CHECK(mixed > 200);
  CHECK(refusals > 1000);
}

}  // namespace tilescope::separable_test
