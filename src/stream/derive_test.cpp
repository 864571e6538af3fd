// Tests which folds are streamable and with which state, and which are refused and why.
#include "expr/simplify.h"
#include "stream/check/verify.h"
#include "stream/test_cascades.h"

namespace tilescope::derive_test {
namespace {

constexpr double tolerance = 1e-9;

void check_runs(const Cascade& cascade, const Witness& witness) {
  const Verification found = verify(cascade, witness, 7);
  CHECK(found.runs >= 8);
  CHECK_MESSAGE(found.worst() <= tolerance,
                "streaming " << found.streaming << ", merging " << found.merging << ", compact " << found.compact);
}

std::vector<std::string> lines_of(const Witness& witness, const std::string& part) {
  std::vector<std::string> found;
  for (const std::string& line : equations(witness))
    if (line.starts_with(part)) found.push_back(line.substr(7));
  return found;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("the derivation of softmax attention gives exactly online softmax") {
  // Napkin (arXiv 2412.03317), table 4, "Unscaled": o = delta*o' + sum s_i v_i, finalise o/z. The ratio that repairs
  // the state is delta.
  const Witness witness = accepted(attention());
  CHECK(witness.kind == Witness::Kind::state_machine);
  CHECK(lines_of(witness, "init") == Lines{"m = -inf", "z = 0", "O = 0"});
  CHECK(lines_of(witness, "body") == Lines{"m' = max(m, max over x of S)",
                                           "z' = z*exp(m - m') + sum over x of exp(S - m')",
                                           "O' = O*exp(m - m') + sum over x of exp(S - m')*V"});
  CHECK(lines_of(witness, "merge") == Lines{"m' = max(m_1, m_2)", "z' = z_1*exp(m_1 - m') + z_2*exp(m_2 - m')",
                                            "O' = O_1*exp(m_1 - m') + O_2*exp(m_2 - m')"});
  CHECK(lines_of(witness, "final") == Lines{"O = O/z", "L = m + log(z)"});
  CHECK(witness.assumptions.empty());
  REQUIRE(witness.folds.size() == 3);
  CHECK(witness.folds[2].rank == 1);
  CHECK(witness.folds[2].because == "O: sum of exp(S - m)*V repaired by exp(m - m'), times 1/z at the end");
  check_runs(attention(), witness);
}

TEST_CASE("a mask, bias, soft cap or scale before the softmax does not change its state machine") {
  // Fusion theorem (arXiv 2505.09326): a function applied to every element along the streamed axis may come first.
  for (const char* scores : {"scale*S", "S + slope*(index(x) - index(q))", "c*tanh(scale*S/c)", "S + B*V"}) {
    Cascade cascade = attention(scores);
    const Witness witness = accepted(cascade);
    CHECK(witness.state.size() == 3);
    CHECK(to_text(witness.state[1].contribution) ==
          to_text(simplify(formula(std::string("exp(") + scores + " - m')"))));
    for (std::size_t i : {std::size_t{1}, std::size_t{2}})
      CHECK(to_text(witness.state[i].repair.value()) == "exp(m - m')");
    CHECK(witness.compact.has_value());
    check_runs(cascade, witness);
    cascade.masked = {"S"};  // causal guard: a fold ignores masked positions
    const Witness guarded = accepted(cascade);
    for (const StateVariable& variable : guarded.state) CHECK(variable.guards == Lines{"S"});
    check_runs(cascade, guarded);
  }
}

TEST_CASE("a bias by position is streamable because index along the axis is a streamed value") {
  const Cascade cascade{"x", {"S"}, {}, {max_of("m", "S + slope*index(x)")}, {output("m", "m")}};
  const Witness witness = accepted(cascade);
  CHECK(witness.kind == Witness::Kind::monoid);
  CHECK(lines_of(witness, "body") == Lines{"m' = max(m, max over x of S + slope*index(x))"});
  check_runs(cascade, witness);
  CHECK(refused({"x", {"S"}, {}, {sum_of("n", "S"), sum_of("w", "sigmoid(index(x) - n)")}, {}}).reason ==
        "sigmoid(index(x) - n): sigmoid of a sum that mixes index(x), which varies along x, with the fold n");
}

TEST_CASE("an L2 norm is applied in the finaliser, and the state is two plain sums") {
  // "Spherical attention" (arXiv 2505.09326): B((o,z),(x,y)) = (o + sum a1(x_i) y_i, z + sum a2(x_i)).
  const Cascade cascade{"x", {"S", "V"}, {}, {sum_of("n", "S*S"), sum_of("O", "(S/sqrt(n))*V")}, {output("O", "O")}};
  const Witness witness = accepted(cascade);
  CHECK(witness.kind == Witness::Kind::monoid);
  CHECK(lines_of(witness, "body") == Lines{"n' = n + sum over x of S*S", "O' = O + sum over x of S*V"});
  CHECK(lines_of(witness, "final") == Lines{"O = O/sqrt(n)"});
  CHECK(!witness.compact.has_value());  // merging needs n, which is not an output
  check_runs(cascade, witness);
}

TEST_CASE("RMSNorm followed by a contraction over the same axis is streamed as two plain sums") {
  const Cascade cascade{"d",
                        {"X", "g", "W"},
                        {},
                        {sum_of("n", "square(X)"), sum_of("Y", "X*rsqrt(n/size(d) + eps)*g*W")},
                        {output("Y", "Y")}};
  const Witness witness = accepted(cascade);
  CHECK(witness.kind == Witness::Kind::monoid);
  CHECK(lines_of(witness, "body") == Lines{"n' = n + sum over d of square(X)", "Y' = Y + sum over d of X*g*W"});
  CHECK(lines_of(witness, "final") == Lines{"Y = Y*rsqrt(n/size(d) + eps)"});
  check_runs(cascade, witness);
}

TEST_CASE("a variance has rank 3 and is streamed with moments, not with repair") {
  // (x - mu)^2 has moments 1, x, x^2 and is rejected as rank 1.
  const Cascade cascade{
      "x", {"X"}, {}, {sum_of("s", "X"), sum_of("v", "square(X - s/size(x))")}, {output("var", "v/size(x)")}};
  const Witness witness = accepted(cascade);
  CHECK(witness.kind == Witness::Kind::moments);
  CHECK(witness.folds[1].rank == 3);
  // The moment of x is s itself, and the moment of 1 is the size.
  CHECK(lines_of(witness, "body") == Lines{"s' = s + sum over x of X", "v_0' = v_0 + sum over x of square(X)"});
  CHECK(to_text(witness.folds[1].value) == "v_0 - square(s)/size(x)");
  check_runs(cascade, witness);
  CHECK(refused(cascade, {.largest_rank = 1}).reason ==
        "square(X - s/size(x)): separable only as a sum of 3 terms, more than the 1 allowed");

  Cascade masked = cascade;
  masked.masked = {"X"};  // now the moment of 1 counts live positions only
  const Witness guarded = accepted(masked);
  CHECK(lines_of(guarded, "body").back() == "v_2' = v_2 + sum over x of 1 where X live");
  check_runs(masked, guarded);
}

TEST_CASE("an output takes the name of a state variable after the outputs that read it") {
  const Cascade cascade{"x",
                        {"X"},
                        {},
                        {sum_of("z", "exp(X)/size(x)"), sum_of("y", "X/z"), sum_of("w", "square(X)*y")},
                        {output("z", "z"), output("y", "y"), output("w", "w")}};
  const Witness witness = accepted(cascade);
  CHECK(lines_of(witness, "final") == Lines{"w = w*y*size(x)/z", "y = y*size(x)/z", "z = z/size(x)"});
  check_runs(cascade, witness);
}

TEST_CASE("a softmax-weighted variance needs three repaired moments, and two of them are already folds") {
  const Cascade cascade{"x",
                        {"S", "V"},
                        {},
                        {max_of("m", "S"), sum_of("z", "exp(S - m)"), sum_of("mu", "exp(S - m)/z*V"),
                         sum_of("v", "exp(S - m)/z*square(V - mu)")},
                        {output("v", "v")}};
  const Witness witness = accepted(cascade);
  CHECK(witness.state.size() == 4);
  CHECK(to_text(witness.state[3].contribution) == "exp(S - m')*square(V)");
  CHECK(to_text(witness.folds[3].value) == "v_0/z - square(mu)/square(z)");
  check_runs(cascade, witness);
}

TEST_CASE("an exponential that can overflow is not made a moment if it has a repair") {
  for (const char* body : {"exp(S - m)*V", "exp(S)*exp(-m)*V", "exp(S)*V/exp(m)", "exp(S)*(V*exp(-m))"}) {
    const Cascade cascade{"x", {"S", "V"}, {}, {max_of("m", "S"), sum_of("O", body)}, {output("O", "O")}};
    const Witness witness = accepted(cascade);
    CHECK(to_text(witness.state[1].repair.value()) == "exp(m - m')");
    CHECK(witness.state[1].contribution.arrays().size() == 3);  // S, m' and V stay in one term
    check_runs(cascade, witness);
  }
}

TEST_CASE("exp(x)/exp(z) is accepted, and sigma(x - mu) is refused with the reason") {
  const Cascade quotient{"x", {"X"}, {}, {max_of("z", "X"), sum_of("s", "exp(X)/exp(z)")}, {output("s", "s")}};
  check_runs(quotient, accepted(quotient));
  const Refusal refusal = refused({"x", {"S"}, {}, {sum_of("mu", "S"), sum_of("y", "sigmoid(S - mu)")}, {}});
  CHECK(refusal.fold == "y");
  CHECK(refusal.reason == "sigmoid(S - mu): sigmoid of a sum that mixes S, which varies along x, with the fold mu");
}

TEST_CASE("each kind of body that does not separate is refused with its own reason") {
  const auto reason = [](const Fold& last) {
    return refused({"x", {"S", "V"}, {}, {sum_of("mu", "S"), last}, {}}).reason;
  };
  CHECK(reason(sum_of("y", "V/(S - mu)")) ==
        "V/(S - mu): division by a sum that mixes S, which varies along x, with the fold mu");
  CHECK(reason(sum_of("y", "exp(S*mu)")) ==
        "exp(S*mu): exp of a product that mixes S, which varies along x, with the fold mu");
  CHECK(reason(sum_of("y", "V*log(S + mu)")) ==
        "log(S + mu): log of a sum that mixes S, which varies along x, with the fold mu");
  CHECK(reason(sum_of("y", "max(S, mu)")) ==
        "max(S, mu): max of a value that mixes S, which varies along x, with the fold mu");
  CHECK(reason(sum_of("y", "tanh(S*mu)")) ==
        "tanh(S*mu): tanh of a product that mixes S, which varies along x, with the fold mu");
  CHECK(
      reason(sum_of("y", "tanh(S - size(x))")) ==
      "tanh(S - size(x)): tanh of a sum that mixes S, which varies along x, with size(x), which grows with the stream");
  CHECK(reason(max_of("y", "S*mu")) ==
        "S*mu: max of a product that mixes S, which varies along x, with the fold mu; it would have to be a sum of a "
        "part that varies and a part that does not, or a product with a positive factor");
  CHECK(reason({"y", FoldKind::product, formula("S*mu"), ""}) ==
        "S*mu: a product along x of factors that depend on the fold mu would need them to the power of the positions "
        "seen");
}

TEST_CASE("max and min take the additive form, or a factor that is certainly positive") {
  const Cascade additive{"x",
                         {"S"},
                         {},
                         {sum_of("mu", "S"), max_of("y", "2*S - mu"), {"w", FoldKind::min, formula("S + mu"), ""}},
                         {output("y", "y"), output("w", "w")}};
  const Witness plain = accepted(additive);
  CHECK(plain.kind == Witness::Kind::monoid);
  CHECK(lines_of(plain, "final") == Lines{"y = y - mu", "w = w + mu"});
  check_runs(additive, plain);
  const Cascade scaled{"x", {"S", "V"}, {}, {max_of("m", "S"), max_of("y", "exp(S - m)*V")}, {output("y", "y")}};
  const Witness repaired = accepted(scaled);
  CHECK(lines_of(repaired, "body").back() == "y' = max(y*exp(m - m'), max over x of exp(S - m')*V)");
  check_runs(scaled, repaired);
}

TEST_CASE("a fold of a positive body is positive, so an extremum may be divided by it") {
  // The largest probability of a softmax.
  const Cascade probability{
      "x", {"S"}, {}, {max_of("m", "S"), sum_of("z", "exp(S - m)"), max_of("p", "exp(S - m)/z")}, {output("p", "p")}};
  const Witness witness = accepted(probability);
  CHECK(lines_of(witness, "body").back() == "p' = max(p*exp(m - m'), max over x of exp(S - m'))");
  CHECK(lines_of(witness, "final") == Lines{"p = p/z"});
  check_runs(probability, witness);
  for (const FoldKind kind : {FoldKind::sum, FoldKind::max, FoldKind::min, FoldKind::product}) {
    const auto divided = [&](const char* body) {
      return Cascade{"x",
                     {"S", "V"},
                     {},
                     {{"r", kind, formula(body), ""}, sum_of("z", "2*sqrt(r)"), max_of("y", "V/z")},
                     {output("y", "y")}};
    };
    check_runs(divided("sigmoid(S) + 0.5"), accepted(divided("sigmoid(S) + 0.5")));
    CHECK(refused(divided("S")).fold == "y");
    CHECK(refused(divided("square(S)")).fold == "y");
  }
  const Cascade counted{"x", {"S"}, {}, {sum_of("mu", "S"), max_of("y", "S/size(x)")}, {output("y", "y")}};
  check_runs(counted, accepted(counted));
}

TEST_CASE("a positive factor without a streamed exponent is applied once to an extremum, at the end") {
  for (const FoldKind kind : {FoldKind::max, FoldKind::min}) {
    const Cascade cascade{
        "x", {"X", "Y"}, {}, {sum_of("mu", "X"), {"s", kind, formula("X*exp(mu)*Y"), ""}}, {output("s", "s")}};
    const Witness witness = accepted(cascade);
    CHECK(witness.kind == Witness::Kind::monoid);
    CHECK(lines_of(witness, "final") == Lines{"s = s*exp(mu)"});
    check_runs(cascade, witness);
  }
}

TEST_CASE("plain sums and products are monoids: a contraction, a backward pass, a product") {
  // The folds that stream by themselves: contraction with B = +; in pyncd's registry sums (+), max, product.
  const Cascade matmul{"k", {"A", "B"}, {}, {sum_of("C", "A*B")}, {output("C", "C")}};
  const Cascade backward{
      "x", {"S", "dP", "K"}, {"S"}, {sum_of("dQ", "scale*exp(S - L)*(dP - D)*K")}, {output("dQ", "dQ")}};
  const Cascade product{"x", {"X"}, {}, {{"p", FoldKind::product, formula("1 + X/4"), ""}}, {output("p", "p")}};
  for (const Cascade& cascade : {matmul, backward, product}) {
    const Witness witness = accepted(cascade);
    CHECK(witness.kind == Witness::Kind::monoid);
    CHECK(witness.state.size() == 1);
    CHECK(!witness.state[0].repair);
    CHECK(!witness.compact);
    check_runs(cascade, witness);
  }
}

TEST_CASE("roots and logarithms of products are split under a stated assumption") {
  const Cascade cascade{
      "x", {"S", "V"}, {}, {sum_of("z", "S"), sum_of("y", "sqrt(S*z) + log(V/z)")}, {output("y", "y")}};
  const Witness witness = accepted(cascade);
  CHECK(witness.assumptions ==
        Lines{"sqrt(S*z) is split: assumes S > 0 and z > 0", "log(V/z) is split: assumes V > 0 and 1/z > 0"});
  check_runs(cascade, witness);
}

TEST_CASE("an output that varies along the axis is a map if it uses no fold, and else needs a second pass") {
  const Cascade map{"x", {"S"}, {}, {}, {output("P", "exp(S)*scale")}};
  const Witness witness = accepted(map);
  CHECK(witness.kind == Witness::Kind::map);
  CHECK(witness.state.empty());
  check_runs(map, witness);
  const Refusal refusal =
      refused({"x", {"S"}, {}, {max_of("m", "S"), sum_of("z", "exp(S - m)")}, {output("P", "exp(S - m)/z")}});
  CHECK(refusal.fold == "P");
  CHECK(refusal.reason ==
        "exp(S - m)/z: varies along x and needs the fold m, which is complete only after the last position: a second "
        "pass");
}

TEST_CASE("a cascade with an unknown, duplicate or invalid name is refused") {
  CHECK(refused({"x", {"S"}, {}, {sum_of("a", "S*b"), sum_of("b", "S")}, {}}).reason ==
        "a: uses b, which is not an earlier fold");
  CHECK(refused({"x", {"S"}, {}, {sum_of("a", "S*a")}, {}}).reason == "a: uses a, which is not an earlier fold");
  CHECK(refused({"x", {"S"}, {}, {sum_of("a", "S"), sum_of("a", "S")}, {}}).reason == "the name a is used twice");
  CHECK(refused({"x", {"S"}, {}, {sum_of("S", "2")}, {}}).reason == "the name S is used twice");
  CHECK(refused({"x", {"S"}, {"T"}, {}, {}}).reason == "T is masked but does not vary along x");
  CHECK(refused({"", {"S"}, {}, {}, {}}).reason == "the axis needs a name, found ''");
  CHECK(refused({"x", {"S"}, {}, {sum_of("a", "S*m'")}, {}}).reason ==
        "'m'' cannot be a name in a cascade: letters, digits and '_', no prime");
  CHECK(refused({"x", {"S"}, {}, {sum_of("a", "S*c")}, {output("c", "a")}}).reason ==
        "the output c has the name of the input c");
  CHECK(refused({"x", {"S"}, {}, {sum_of("a", "S")}, {output("o", "a"), output("o", "a")}}).reason ==
        "two outputs are called o");
}

TEST_CASE("cascades whose expressions grow without limit are refused in bounded time") {
  Cascade doubling{"x", {"S"}, {}, {sum_of("r0", "S")}, {}};
  for (int i = 1; i < 60; ++i)
    doubling.folds.push_back(
        sum_of("r" + std::to_string(i), "S*tanh(r" + std::to_string(i - 1) + ")*log(r" + std::to_string(i - 1) + ")"));
  CHECK(refused(doubling).reason.find("more than 5000 parts") != std::string::npos);
  std::string factors = "(S + m)";
  for (int i = 0; i < 12; ++i)
    factors += "*(sigmoid(S + " + std::to_string(i) + ") + tanh(m + " + std::to_string(i) + "))";
  CHECK(refused({"x", {"S"}, {}, {sum_of("m", "S"), sum_of("y", factors)}, {}}).reason.find("more than 64 terms") !=
        std::string::npos);
  Cascade many{"x", {"S"}, {}, {}, {}};
  for (int i = 0; i < 65; ++i) many.folds.push_back(sum_of("r" + std::to_string(i), "S"));
  CHECK(refused(many).reason == "at most 64 folds, found 65");
}

}  // namespace tilescope::derive_test
