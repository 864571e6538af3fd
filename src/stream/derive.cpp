#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/contains.h"
#include "base/text.h"
#include "expr/normal_form.h"
#include "expr/simplify.h"
#include "stream/compact.h"
#include "stream/separable.h"
#include "stream/validate_cascade.h"
#include "stream/witness.h"

namespace tilescope {
namespace {

using Kind = Expression::Kind;
using Replacements = std::map<std::string, Expression, std::less<>>;

// Larger than any practical cascade. The limit stops expressions that use one another from growing exponentially.
constexpr std::size_t longest_value = 5000;  // nodes

using NameSet = std::set<std::string, std::less<>>;

// `known`: names that are positive.
bool provably_positive(const Expression& e, const NameSet& known) {
  const auto positive = [&](const Expression& operand) { return provably_positive(operand, known); };
  const auto operands = e.operands();
  const bool all = !operands.empty() && std::all_of(operands.begin(), operands.end(), positive);
  if (e.kind() == Kind::number) return e.value() > 0;
  if (e.kind() == Kind::array) return known.contains(e.name());
  if (e.kind() == Kind::size || e.is_call(Function::exp) || e.is_call(Function::sigmoid)) return true;
  if (e.kind() == Kind::add || e.kind() == Kind::multiply || e.kind() == Kind::divide) return all;
  if (e.is_call(Function::sqrt) || e.is_call(Function::rsqrt)) return all;
  return e.is_call(Function::pow) || e.is_call(Function::square) ? positive(operands[0]) : false;
}

Expression size_to_count(const Expression& e, const std::string& axis, const Expression& count) {
  if (e.kind() == Kind::size && e.name() == axis) return count;
  std::vector<Expression> parts;
  for (const Expression& operand : e.operands()) parts.push_back(size_to_count(operand, axis, count));
  return parts.empty() ? e : e.with_operands(std::move(parts));
}

std::size_t nodes(const Expression& e) {
  std::size_t count = 1;
  for (const Expression& operand : e.operands()) count += nodes(operand);
  return count;
}

class Derivation {
 public:
  Derivation(const Cascade& cascade, const DeriveOptions& options) : cascade_(cascade), options_(options) {
    roles_.axis = witness_.axis = cascade.axis;
    roles_.streamed.insert(cascade.streamed.begin(), cascade.streamed.end());
    taken_ = names_of(cascade);
  }

  std::variant<Witness, Refusal> run() {
    if (auto refusal = refusal_of_form(cascade_)) return *refusal;
    try {
      count_positions();
      for (const Fold& fold : cascade_.folds) derive(fold);
      for (const Output& output : cascade_.outputs) finalise(output);
    } catch (const Refusal& refusal) {
      return refusal;
    }
    drop_count();
    classify();
    witness_.compact = compact_state(witness_);
    return witness_;
  }

 private:
  // size(axis) grows with the stream, so in a body it is a fold: the sum of 1.
  void count_positions() {
    const auto sized = [&](const Fold& fold) {
      const auto axes = fold.body.size_axes();
      return contains(axes, cascade_.axis);
    };
    if (std::none_of(cascade_.folds.begin(), cascade_.folds.end(), sized)) return;
    count_ = roles_.count = unused("count");
    roles_.folds.insert(count_);
    witness_.state.push_back({.name = count_, .fold = count_, .contribution = Expression::number(1)});
    known_.emplace("sum||1|", 0);
    positive_.insert(count_);
    values_.emplace(count_, Expression::array(count_));
  }

  std::string unused(std::string name) {
    while (taken_.contains(name)) name += '_';
    taken_.insert(name);
    return name;
  }

  [[noreturn]] static void refuse(const std::string& fold, const std::string& reason) { throw Refusal{fold, reason}; }

  void derive(const Fold& fold) {
    const Expression body =
        count_.empty() ? fold.body : size_to_count(fold.body, cascade_.axis, Expression::array(count_));
    if (!roles_.depends(body)) {
      const std::size_t at = variable(fold, fold.name, body, Expression::number(0));
      record(fold, 1, Expression::array(witness_.state[at].name),
             fmt::format("{}: no earlier fold in the body, so parts of {} combine by {}", fold.name, cascade_.axis,
                         to_string(fold.kind)),
             {witness_.state[at].name});
    } else if (fold.kind == FoldKind::sum) {
      derive_sum(fold, body);
    } else if (fold.kind == FoldKind::product) {
      refuse(fold.name, fmt::format("{}: a product along {} of factors that depend on {} would need them to the power "
                                    "of the positions seen",
                                    to_text(fold.body), cascade_.axis, fold_in(body)));
    } else {
      derive_extremum(fold, body);
    }
    roles_.folds.insert(fold.name);
    if (provably_positive(simplify(body), positive_)) positive_.insert(fold.name);
  }

  std::string fold_in(const Expression& body) const {
    for (const std::string& name : body.arrays())
      if (roles_.folds.contains(name)) return name == count_ ? "size(" + cascade_.axis + ")" : "the fold " + name;
    return {};
  }

  SeparableForm separated(const Fold& fold, const Expression& body) const {
    auto form = separate(body, roles_);
    if (const auto* reason = std::get_if<Inseparable>(&form)) refuse(fold.name, reason->reason);
    return std::get<SeparableForm>(form);
  }

  void derive_sum(const Fold& fold, const Expression& body) {
    const SeparableForm form = separated(fold, body);
    const int rank = static_cast<int>(form.terms.size());
    if (rank > options_.largest_rank)
      refuse(fold.name, fmt::format("{}: separable only as a sum of {} terms, more than the {} allowed",
                                    to_text(fold.body), rank, options_.largest_rank));
    Expression value;
    std::vector<std::string> reasons, parts;
    for (const SeparableTerm& term : form.terms) {
      const bool alone = rank == 1;
      Expression kept = term.kept(), moved = term.moved();
      if (alone) kept = term.constant * kept;
      else moved = term.constant * moved;
      const std::string name = alone ? fold.name : fmt::format("{}_{}", fold.name, reasons.size());
      const std::size_t at = variable(fold, name, simplify(kept), repaired_exponent(term));
      value = value + Expression::array(witness_.state[at].name) * over_state(fold.name, moved);
      parts.push_back(witness_.state[at].name);
      reasons.push_back(reason(witness_.state[at], simplify(kept), simplify(moved)));
    }
    add_assumptions(form.assumptions);
    record(fold, rank, value, fmt::format("{}: {}", fold.name, join(reasons, "; ")), std::move(parts));
  }

  // The part of the exponential inside kept() that depends on folds. Without a streamed exponent the exponential is in
  // moved(), which the finaliser applies once.
  static Expression repaired_exponent(const SeparableTerm& term) {
    return term.streamed_exponent.is_number(0) ? Expression::number(0) : term.folded_exponent;
  }

  std::string reason(const StateVariable& made, const Expression& kept, const Expression& moved) const {
    const auto shown = [&](const Expression& e) {
      return to_text(count_.empty() ? e : substitute(e, count_, Expression::size(cascade_.axis)));
    };
    std::string text = fmt::format("{} of {}", to_string(made.kind), shown(kept));
    if (made.repair) text += fmt::format(" repaired by {}", to_text(*made.repair));
    if (!moved.is_number(1)) text += fmt::format(", times {} at the end", shown(moved));
    return text;
  }

  // max(G + H) = max(G) + H; max(G*H) = max(G)*H where H > 0 is certain.
  void derive_extremum(const Fold& fold, const Expression& body) {
    const auto form = separate_additively(body, roles_, to_string(fold.kind) + " of");
    if (const auto* additive = std::get_if<AdditiveForm>(&form)) {
      const std::size_t at = variable(fold, fold.name, additive->streamed, Expression::number(0));
      add_assumptions(additive->assumptions);
      record(fold, 1, Expression::array(witness_.state[at].name) + over_state(fold.name, additive->folded),
             fmt::format("{}: {} of {}, plus {} at the end", fold.name, to_string(fold.kind),
                         to_text(additive->streamed), to_text(additive->folded)),
             {witness_.state[at].name});
      return;
    }
    const auto product = separate(body, roles_);
    const auto* single = std::get_if<SeparableForm>(&product);
    if (single == nullptr || single->terms.size() != 1 ||
        !provably_positive(simplify(single->terms[0].moved()), positive_))
      refuse(fold.name, std::get<Inseparable>(form).reason +
                            "; it would have to be a sum of a part that varies and a "
                            "part that does not, or a product with a positive factor");
    const SeparableTerm& term = single->terms[0];
    const Expression kept = simplify(term.constant * term.kept());
    const std::size_t at = variable(fold, fold.name, kept, repaired_exponent(term));
    add_assumptions(single->assumptions);
    record(fold, 1, Expression::array(witness_.state[at].name) * over_state(fold.name, term.moved()),
           fmt::format("{}: {}", fold.name, reason(witness_.state[at], kept, simplify(term.moved()))),
           {witness_.state[at].name});
  }

  // The state variable that accumulates `kept`; an existing one is reused. `exponent`: the part of an exponential
  // inside `kept` that depends on folds; its change from old to new state is the repair.
  std::size_t variable(const Fold& fold, const std::string& name, const Expression& kept, const Expression& exponent) {
    StateVariable made{.name = name, .fold = fold.name, .kind = fold.kind, .shape = fold.shape};
    const Expression before = simplify(over_state(fold.name, exponent));
    const Expression after = primed(before);
    made.contribution = roles_.depends(kept) ? simplify(primed(over_state(fold.name, kept))) : kept;
    if (!proven_equal(before, after)) made.repair = simplify(Expression::call(Function::exp, {after - before}));
    for (const std::string& leaf : cascade_.masked)
      if (fold.body.uses(leaf)) made.guards.push_back(leaf);
    const std::string key =
        fmt::format("{}|{}|{}|{}", to_string(made.kind), join(made.guards, ","),
                    order_free_key(simplify(made.contribution)), made.repair ? order_free_key(*made.repair) : "");
    const auto [same, fresh] = known_.emplace(key, witness_.state.size());
    if (!fresh) return same->second;
    if (made.name != fold.name) made.name = unused(made.name);
    witness_.state.push_back(std::move(made));
    return witness_.state.size() - 1;
  }

  // Replaces folds by their values over the state. The length is checked first, because folds that use one another
  // repeatedly double it at every level.
  Expression over_state(const std::string& name, const Expression& e) const {
    if (length_over_state(e) > longest_value) refuse_length(name);
    return substitute(e, values_);
  }

  [[noreturn]] static void refuse_length(const std::string& name) {
    refuse(name, fmt::format("{}: written out over the state it has more than {} parts", name, longest_value));
  }

  std::size_t length_over_state(const Expression& e) const {
    if (e.kind() == Kind::array) {
      const auto length = lengths_.find(e.name());
      return length == lengths_.end() ? 1 : length->second;
    }
    std::size_t length = 1;
    for (const Expression& operand : e.operands()) length += length_over_state(operand);
    return length;
  }

  Expression primed(const Expression& e) const {
    Replacements next;
    for (const StateVariable& variable : witness_.state)
      next.emplace(variable.name, Expression::array(variable.name + "'"));
    return substitute(e, next);
  }

  void record(const Fold& fold, int rank, const Expression& value, std::string because,
              std::vector<std::string> parts) {
    if (nodes(value) > longest_value) refuse_length(fold.name);
    const Expression simple = simplify(value);
    lengths_.insert_or_assign(fold.name, nodes(simple));
    values_.insert_or_assign(fold.name, simple);
    witness_.folds.push_back({fold.name, rank, simple, std::move(because), std::move(parts)});
  }

  void add_assumptions(const std::vector<std::string>& more) {
    for (const std::string& each : more)
      if (!contains(witness_.assumptions, each)) witness_.assumptions.push_back(each);
  }

  void finalise(const Output& output) {
    if (roles_.varies(output.value)) {
      if (roles_.depends(output.value))
        refuse(output.name,
               fmt::format(
                   "{}: varies along {} and needs {}, which is complete only after the last position: a second pass",
                   to_text(output.value), cascade_.axis, fold_in(output.value)));
      witness_.maps.push_back(output);
      return;
    }
    const Expression value = simplify(over_state(output.name, output.value));
    witness_.finaliser.push_back({output.name, value, output.shape});
  }

  // A count that only finalisers read is not carried, because finalisers know the size.
  void drop_count() {
    if (count_.empty()) return;
    const auto reads = [&](const Expression& e) { return e.uses(count_) || e.uses(count_ + "'"); };
    for (const StateVariable& variable : witness_.state)
      if (reads(variable.contribution) || (variable.repair && reads(*variable.repair))) return;
    const Expression size = Expression::size(cascade_.axis);
    for (FoldWitness& fold : witness_.folds) fold.value = substitute(fold.value, count_, size);
    for (Output& output : witness_.finaliser) output.value = substitute(output.value, count_, size);
    witness_.state.erase(witness_.state.begin());
  }

  void classify() {
    const bool moments =
        std::any_of(witness_.folds.begin(), witness_.folds.end(), [](const FoldWitness& f) { return f.rank > 1; });
    const bool repairs = std::any_of(witness_.state.begin(), witness_.state.end(),
                                     [](const StateVariable& v) { return v.repair.has_value(); });
    witness_.kind = repairs                  ? Witness::Kind::state_machine
                    : moments                ? Witness::Kind::moments
                    : witness_.folds.empty() ? Witness::Kind::map
                                             : Witness::Kind::monoid;
  }

  const Cascade& cascade_;
  const DeriveOptions& options_;
  StreamRoles roles_;
  Witness witness_;
  Replacements values_;                                      // folds over state variables
  std::map<std::string, std::size_t, std::less<>> lengths_;  // of those values, in nodes
  std::map<std::string, std::size_t> known_;                 // state variables by what they accumulate
  NameSet taken_;
  NameSet positive_;  // folds whose bodies are positive: so are their sum, product and extrema of any live position
  std::string count_{};
};

}  // namespace

std::variant<Witness, Refusal> derive_witness(const Cascade& cascade, const DeriveOptions& options) {
  return Derivation(cascade, options).run();
}

}  // namespace tilescope
