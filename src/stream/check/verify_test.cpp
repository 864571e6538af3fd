// Every derived witness passes verification, and a wrong witness fails it.
#include "stream/check/verify.h"

#include <cmath>

#include "base/test_seed.h"
#include "expr/random_expression.h"
#include "stream/check/direct.h"
#include "stream/check/run.h"
#include "stream/test_cascades.h"

namespace tilescope::verify_test {
namespace {

// Random cascades. A body has one to three factors or terms. Many terms mix streamed values with folds, so that about
// half of the cascades are streamable.
class RandomCascade {
 public:
  explicit RandomCascade(std::mt19937_64& random) : random_(random) {}

  Cascade cascade() {
    Cascade result{"x", {"S", "V"}, {}, {}, {}};
    if (below(3) == 0) result.masked = {"S"};
    if (below(6) == 0) result.masked.push_back("V");
    const int count = 1 + below(4);
    for (int i = 0; i < count; ++i) {
      const std::string name = "R" + std::to_string(i);
      const int kind = below(10);
      const FoldKind fold = kind < 7   ? FoldKind::sum
                            : kind < 8 ? FoldKind::max
                            : kind < 9 ? FoldKind::min
                                       : FoldKind::product;
      const bool positive = fold == FoldKind::sum && below(5) == 0;
      const std::string text = fold == FoldKind::product ? "1 + 0.1*" + streamed()
                               : positive ? pick({"exp(0.5*S)", "sigmoid(V)", "exp(S - tanh(" + folded() + "))"})
                               : fold != FoldKind::sum && below(2) == 0 ? scaled()
                                                                        : body();
      if (positive) positive_.push_back(name);
      result.folds.push_back({name, fold, formula(text), ""});
      folds_.push_back(name);
    }
    for (const std::string& name : folds_)
      result.outputs.push_back(output("out_" + name, name + "/(1 + square(" + folded() + "))"));
    return result;
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  std::string pick(std::initializer_list<std::string> choices) {
    return *(choices.begin() + below(static_cast<int>(choices.size())));
  }
  std::string streamed() {
    return pick({"S", "V", "S*V", "sigmoid(S)", "tanh(V)", "exp(0.5*S)", "square(V)", "(1 + 0.1*index(x))", "(S + V)",
                 "abs(V)"});
  }
  std::string folded() {
    if (folds_.empty()) return pick({"k", "2"});
    const std::string fold = folds_[random_() % folds_.size()];
    return pick(
        {fold, fold + "/size(x)", "tanh(" + fold + ")", "(k + 0.2*" + fold + ")", "sqrt(1 + square(" + fold + "))"});
  }
  std::string factor() {
    const std::string s = streamed(), f = folded();
    return pick({s, s, f, "1/(1 + square(" + f + "))", "exp(" + s + " - " + f + ")", "exp(" + s + ")*exp(-" + f + ")",
                 "(" + s + " - " + f + ")", "square(" + s + " + tanh(" + f + "))", "rsqrt(1 + square(" + f + "))",
                 "sqrt(square(" + s + ")*square(" + f + "))", "log(exp(" + s + ")*(1 + square(" + f + ")))",
                 "sigmoid(" + s + " - " + f + ")"});
  }
  // What an extremum takes: streamed values times a factor that is certainly positive, with and without a streamed
  // exponent.
  std::string scaled() {
    const std::string s = streamed(), f = folded();
    const std::string t = "tanh(" + f + ")";
    if (!positive_.empty() && below(3) == 0) {
      const std::string p = positive_[random_() % positive_.size()];
      return s + pick({"/" + p, "*sqrt(" + p + ")", "*rsqrt(" + p + ")"});
    }
    return s + pick({"*exp(" + t + ")", "*exp(-" + t + ")", "/exp(" + t + ")", "*sigmoid(" + f + ")",
                     "*exp(" + streamed() + " - " + t + ")", "*exp(k)*exp(" + t + ")*" + streamed()});
  }
  std::string body() {
    std::string text = factor();
    for (int more = below(3); more > 0; --more) text += (below(4) == 0 ? " + " : "*") + factor();
    return text;
  }

  std::mt19937_64& random_;
  std::vector<std::string> folds_{}, positive_{};  // all, and those of positive bodies
};

std::string shown(const Cascade& cascade) {
  std::string text;
  for (const Fold& fold : cascade.folds)
    text += fold.name + " = " + to_string(fold.kind) + " " + to_text(fold.body) + "; ";
  for (const std::string& name : cascade.masked) text += name + " masked; ";
  return text;
}

StreamData slice(const StreamData& data, std::size_t begin, std::size_t end) {
  StreamData part = data;
  part.positions = end - begin;
  const auto cut = [&](auto& columns) {
    for (auto& [name, column] : columns)
      column = {column.begin() + static_cast<std::ptrdiff_t>(begin), column.begin() + static_cast<std::ptrdiff_t>(end)};
  };
  cut(part.streamed);
  cut(part.masked);
  return part;
}

// True if the folds of all parts have a moderate size; an empty maximum is ignored. Only then is a witness judged:
// moments that cancel lose digits, and a part with folds in the hundreds puts exp(-fold) out of range.
bool well_scaled(const Cascade& cascade, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 24; ++i) {
    const StreamData data = random_stream_data(cascade, 30, i % 2 == 1 ? 0.25 : -1.5, i % 2 == 1 ? 1.75 : 1.5, random);
    for (const auto& [begin, end] :
         {std::pair{0, 30}, {0, 3}, {3, 30}, {0, 15}, {15, 30}, {0, 27}, {27, 30}, {10, 20}}) {
      const DirectValues direct =
          evaluate_directly(cascade, slice(data, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)));
      for (const auto& [name, value] : direct.magnitudes)
        if (std::isfinite(value) && value > 200) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a witness of a random cascade computes the cascade for any chunks, merges and order") {
  std::mt19937_64 random(test_seed());
  int accepted_count = 0, refused_count = 0, repaired = 0, moments = 0, scaled_extrema = 0;
  for (int i = 0; i < 900; ++i) {
    const Cascade cascade = RandomCascade(random).cascade();
    const auto result = derive_witness(cascade);
    if (std::holds_alternative<Refusal>(result)) {
      ++refused_count;
      continue;
    }
    const Witness& witness = std::get<Witness>(result);
    const std::uint64_t seed = random();
    if (!well_scaled(cascade, seed)) continue;
    const Verification found = verify(cascade, witness, seed);
    CHECK_MESSAGE(found.worst() <= 1e-9, shown(cascade) << "streaming " << found.streaming << " merging "
                                                        << found.merging << " compact " << found.compact);
    ++accepted_count;
    repaired += witness.kind == Witness::Kind::state_machine;
    moments += witness.kind == Witness::Kind::moments;
    for (std::size_t fold = 1; fold < cascade.folds.size(); ++fold) {
      const bool extremum = cascade.folds[fold].kind == FoldKind::max || cascade.folds[fold].kind == FoldKind::min;
      scaled_extrema += extremum && witness.folds[fold].value.kind() == Expression::Kind::multiply;
    }
  }
  CHECK(accepted_count > 100);
  CHECK(refused_count > 40);
  CHECK(repaired > 10);
  CHECK(moments > 10);
  CHECK(scaled_extrema > 10);
}

TEST_CASE("the derivation throws for no body, and a witness without moments or repair is exact") {
  std::mt19937_64 random(test_seed());
  int sums = 0;
  for (int i = 0; i < 1000; ++i) {
    Cascade cascade{"x", {"a", "b"}, {}, {}, {}};
    for (const char* name : {"c", "d", "e"}) {
      const auto kind = static_cast<FoldKind>(random() % 10 < 7 ? 0 : random() % 4);
      const Expression body = random_expression(random, 4);
      const bool later = body.uses("d") && std::string(name) == "c";
      cascade.folds.push_back({name, kind, later || body.uses(name) ? Expression::array("a") : body, ""});
    }
    cascade.outputs = {{"o", Expression::array("e"), ""}};
    const auto result = derive_witness(cascade);
    if (const auto* witness = std::get_if<Witness>(&result)) {
      CHECK(!equations(*witness).empty());
      if (witness->kind != Witness::Kind::monoid || !witness->assumptions.empty() || !well_scaled(cascade, 1)) continue;
      const Verification found = verify(cascade, *witness, random());
      if (found.runs == 0) continue;
      ++sums;
      CHECK_MESSAGE(found.worst() <= 1e-9, shown(cascade));
    } else {
      CHECK(!std::get<Refusal>(result).reason.empty());
    }
  }
  CHECK(sums > 30);
}

TEST_CASE("a witness with a wrong part fails verification") {
  const Cascade cascade = attention();
  const Witness good = accepted(cascade);
  CHECK(verify(cascade, good, 11).worst() <= 1e-9);
  const auto fails = [&](const char* what, const Witness& wrong) {
    const Verification found = verify(cascade, wrong, 11);
    CHECK_MESSAGE(!(found.worst() <= 1e-9), what);
    return found;
  };
  Witness wrong = good;
  wrong.state[1].repair.reset();
  CHECK(!(fails("no repair of z", wrong).merging <= 1e-9));
  wrong = good;
  wrong.state[2].repair = formula("exp(m' - m)");
  fails("the inverse factor", wrong);
  wrong = good;
  wrong.state[2].repair = formula("exp(1.000001*(m - m'))");
  fails("a factor off by a millionth", wrong);
  wrong = good;
  wrong.state[2].contribution = formula("exp(S)*V");
  fails("a contribution without the new maximum", wrong);
  wrong = good;
  wrong.state[1].kind = FoldKind::max;
  fails("another fold", wrong);
  wrong = good;
  wrong.finaliser[0].value = formula("O");
  fails("no division at the end", wrong);
  wrong = good;
  wrong.finaliser[1].value = formula("m + log(z) + 0.00000001");
  fails("an output that is off by 1e-8", wrong);
  wrong = good;
  for (StateVariable& variable : wrong.state) variable.guards = {"V"};
  Cascade masked = cascade;
  masked.masked = {"V"};
  CHECK(!(verify(masked, wrong, 11).worst() <= 1e-9));  // m and z must include positions where only V is masked
  CHECK(verify(masked, accepted(masked), 11).worst() <= 1e-9);
}

TEST_CASE("a fold accumulates while the maximum that it depends on is still empty") {
  // S is masked at the start and V is not. There z accumulates before m has a value, so exp(V - m) has no scale yet.
  Cascade cascade{"x", {"S", "V"}, {"S"}, {max_of("m", "S"), sum_of("z", "exp(V - m)")}, {output("z", "z")}};
  const Witness witness = accepted(cascade);
  StreamData data{.axis = "x", .positions = 3};
  data.streamed = {{"S", {5, 5, 2}}, {"V", {1, 2, 3}}};
  data.masked = {{"S", {true, true, false}}};
  const StreamRun run(witness, data);
  const StreamState first = run.advanced(run.initial(), 0, 2), last = run.advanced(run.initial(), 2, 3);
  const double wanted = std::exp(-1.0) + 1 + std::exp(1.0);
  CHECK(run.outputs(run.advanced(first, 2, 3)).at("z") == doctest::Approx(wanted).epsilon(1e-14));
  CHECK(run.outputs(run.merged(first, last)).at("z") == doctest::Approx(wanted).epsilon(1e-14));
  CHECK(run.outputs(run.merged(last, first)).at("z") == doctest::Approx(wanted).epsilon(1e-14));
  CHECK(verify(cascade, witness, 2).worst() <= 1e-9);
}

TEST_CASE("a repair of a random cascade that is wrong by one part in 100000 fails verification") {
  std::mt19937_64 random(test_seed());
  int tried = 0;
  for (int i = 0; i < 4000 && tried < 60; ++i) {
    const Cascade cascade = RandomCascade(random).cascade();
    const auto result = derive_witness(cascade);
    if (!std::holds_alternative<Witness>(result)) continue;
    Witness witness = std::get<Witness>(result);
    const std::uint64_t seed = random();
    std::string perturbed;
    for (StateVariable& variable : witness.state) {
      if (!variable.repair || variable.name != variable.fold) continue;  // one of several terms may have no effect
      variable.repair = *variable.repair * Expression::number(1.00001);
      perturbed = variable.fold;
      break;
    }
    if (perturbed.empty() || !well_scaled(cascade, seed)) continue;
    const StreamData data = random_stream_data(cascade, 20, -1.5, 1.5, random);
    if (!(evaluate_directly(cascade, data).magnitudes.at(perturbed) > 0.1))
      continue;  // the value is nearly 0: no difference to detect
    ++tried;
    CHECK_MESSAGE(!(verify(cascade, witness, seed).worst() <= 1e-9), shown(cascade));
  }
  CHECK(tried == 60);
}

TEST_CASE("the derived online softmax stays finite and exact where exp of a score overflows") {
  // The reference is softmax, computed here in long double. Scores lie between -4000 and 4000; exp overflows at 709.
  const Cascade cascade = attention();
  const Witness witness = accepted(cascade);
  std::mt19937_64 random(test_seed());
  std::uniform_real_distribution<double> score(-4000, 4000), value(0.5, 1.5);
  for (int i = 0; i < 50; ++i) {
    StreamData data = random_stream_data(cascade, 200, 0, 1, random);
    for (std::size_t x = 0; x < 200; ++x) data.streamed["S"][x] = score(random), data.streamed["V"][x] = value(random);
    long double top = -4000, weight = 0, weighted = 0;
    for (const double s : data.streamed["S"]) top = std::max(top, static_cast<long double>(s));
    for (std::size_t x = 0; x < 200; ++x) {
      const long double p = std::exp(static_cast<long double>(data.streamed["S"][x]) - top);
      weight += p, weighted += p * static_cast<long double>(data.streamed["V"][x]);
    }
    const StreamRun run(witness, data);
    StreamState left = run.initial(), right = run.initial();
    for (std::size_t x = 0; x < 96; x += 16) left = run.advanced(left, x, x + 16);
    for (std::size_t x = 96; x < 200; x += 8) right = run.advanced(right, x, x + 8);
    const auto found = run.outputs(run.merged(left, right));
    CHECK(found.at("O") == doctest::Approx(static_cast<double>(weighted / weight)).epsilon(1e-12));
    CHECK(found.at("L") == doctest::Approx(static_cast<double>(top + std::log(weight))).epsilon(1e-12));
  }
}

TEST_CASE("the reference values of a cascade equal values that are written out by hand") {
  const Cascade cascade = attention();
  StreamData data{.axis = "x", .positions = 4};
  data.streamed = {{"S", {1, 3, 2, 9}}, {"V", {4, -1, 0.5, 100}}};
  data.masked = {{"S", {false, false, false, true}}};
  const DirectValues direct = evaluate_directly(cascade, data);
  const double z = std::exp(-2.0) + 1 + std::exp(-1.0);
  CHECK(direct.folds.at("m") == 3);
  CHECK(direct.folds.at("z") == doctest::Approx(z).epsilon(1e-15));
  CHECK(direct.outputs.at("O") == doctest::Approx((4 * std::exp(-2.0) - 1 + 0.5 * std::exp(-1.0)) / z).epsilon(1e-14));
  CHECK(direct.outputs.at("L") == doctest::Approx(3 + std::log(z)).epsilon(1e-15));
}

TEST_CASE("a cascade that never has a value does not pass verification") {
  const Cascade cascade{"x", {"S"}, {}, {sum_of("y", "log(-1 - square(S))")}, {output("y", "y")}};
  const Verification found = verify(cascade, accepted(cascade), 1);
  CHECK(found.runs == 0);
  CHECK(!(found.worst() <= 1e-9));
}

}  // namespace tilescope::verify_test
