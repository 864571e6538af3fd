// Partial results kept as outputs: the state of a split-KV kernel.
#include <ctime>

#include "stream/check/verify.h"
#include "stream/quotient.h"
#include "stream/test_cascades.h"

namespace tilescope::compact_test {
namespace {

std::string section_text(const Witness& witness) {
  std::string text;
  REQUIRE(witness.compact.has_value());
  for (const auto& [name, value] : witness.compact->section) text += name + " := " + to_text(value) + "; ";
  return text;
}

}  // namespace

TEST_CASE("partial results of attention can be kept as its outputs O and L") {
  const Witness witness = accepted(attention());
  CHECK(section_text(witness) == "m := L; z := 1; O := O; ");
  CHECK(witness.compact->outputs == std::vector<std::string>{"L", "O"});
  const Verification found = verify(attention(), witness, 3);
  CHECK(found.worst() <= 1e-9);
}

TEST_CASE("a section (state from outputs) is accepted only if outputs and state have the same shape") {
  Cascade cascade = attention();
  cascade.outputs[1].shape = "q e";  // L is stored per column and cannot replace m, which is not
  CHECK(!accepted(cascade).compact.has_value());
}

TEST_CASE("without the log-sum-exp the outputs of attention cannot be merged") {
  Cascade cascade = attention();
  cascade.outputs.pop_back();
  CHECK(!accepted(cascade).compact.has_value());
}

TEST_CASE("a mean has a section but means do not merge, so the section is refused") {
  // The section sigma is s := mean, n := 1, and t(sigma(mean)) = mean/1. But the average of the means of unequal parts
  // is not the mean.
  const Cascade cascade{"x", {"S"}, {"S"}, {sum_of("n", "0*S + 1"), sum_of("s", "S")}, {output("mean", "s/n")}};
  const Witness witness = accepted(cascade);
  CHECK(!witness.compact.has_value());
  Witness wrong = witness;
  wrong.compact = CompactState{{{"n", Expression::number(1)}, {"s", Expression::array("mean")}}, {"mean"}};
  CHECK(verify(cascade, witness, 5).worst() <= 1e-9);
  CHECK(verify(cascade, wrong, 5).compact > 1e-3);
}

TEST_CASE("the compact state of a log-sum-exp alone is one value instead of two") {
  const Cascade cascade{"x", {"S"}, {}, {max_of("m", "S"), sum_of("z", "exp(S - m)")}, {output("L", "m + log(z)")}};
  CHECK(section_text(accepted(cascade)) == "m := L; z := 1; ");
}

TEST_CASE("a wrong section is detected by running it") {
  Witness witness = accepted(attention());
  witness.compact->section[0].second = Expression::number(0);  // discards the scale of each part
  CHECK(verify(attention(), witness, 3).compact > 1e-3);
}

TEST_CASE("a chain of eight folds, each of an exponential less the one before, is derived in a fraction of a second") {
  // 729 of 2,187 sections give back the output. A proof that each does not merge took seconds.
  Cascade cascade{.axis = "x", .streamed = {"X"}, .masked = {}, .folds = {}, .outputs = {}};
  cascade.folds.push_back({"r1", FoldKind::max, Expression::array("X")});
  for (int i = 2; i <= 7; ++i)
    cascade.folds.push_back(
        {"r" + std::to_string(i), FoldKind::sum,
         Expression::call(Function::exp, {Expression::array("X") - Expression::array("r" + std::to_string(i - 1))})});
  cascade.outputs.push_back({"r7", Expression::array("r7")});
  const std::clock_t start = std::clock();
  const Witness witness = accepted(cascade);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  MESSAGE(seconds << " s");
  CHECK(seconds < 1);
  CHECK(!witness.compact.has_value());
}

TEST_CASE("quotients are proven equal if and only if they cross-multiply to the same sum") {
  const auto equal = [](const char* a, const char* b) { return proven_equal_as_quotients(formula(a), formula(b)); };
  CHECK(equal("(a*c + b*c)/(d*c)", "(a + b)/d"));
  CHECK(equal("square(a + b) - square(a - b)", "4*a*b"));
  CHECK(equal("(a*exp(p - m) + b*exp(q - m))/(exp(p - m) + exp(q - m))", "(a*exp(p) + b*exp(q))/(exp(p) + exp(q))"));
  CHECK(equal("m + log(exp(p - m) + exp(q - m))", "log(exp(p) + exp(q))"));
  CHECK(equal("1/(1/a + 1/b)", "a*b/(a + b)"));
  CHECK(equal("pow(a + b, -2)", "1/(a*a + 2*a*b + b*b)"));
  CHECK(!equal("(a + b)/d", "a + b/d"));
  CHECK(!equal("m + log(exp(p) + exp(q))", "log(exp(p) + exp(q))"));
  CHECK(!equal("pow(a + b + c + d, 20)", "pow(a + b + c + d, 20) + 1"));  // beyond the bound: not proven
}

}  // namespace tilescope::compact_test
