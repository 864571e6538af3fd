#include "stream/compact.h"

#include <algorithm>
#include <map>

#include "base/contains.h"
#include "expr/simplify.h"
#include "stream/quotient.h"

namespace tilescope {
namespace {

using Replacements = std::map<std::string, Expression, std::less<>>;
constexpr std::size_t most_candidates = 4096;
constexpr std::size_t longest_finaliser = 2000;  // characters

std::vector<Expression> choices(const Witness& witness, const StateVariable& variable) {
  std::vector<Expression> all;
  for (const Output& output : witness.finaliser)
    if (output.shape == variable.shape) all.push_back(Expression::array(output.name));
  all.push_back(Expression::number(1));
  all.push_back(Expression::number(0));
  return all;
}

// Replaces each variable of the state by `value` of it.
template <class Value>
Replacements each_variable(const Witness& witness, const Value& value) {
  Replacements result;
  for (std::size_t i = 0; i < witness.state.size(); ++i) result.emplace(witness.state[i].name, value(i));
  return result;
}

// The merged state as a function of the two states name'' and name'''.
Replacements merged_state(const Witness& witness, const Replacements& sides) {
  Replacements known = sides;
  Replacements result;
  for (std::size_t i = 0; i < witness.state.size(); ++i) {
    const Expression value = simplify(substitute(merged_value(witness, i), known));
    known.insert_or_assign(witness.state[i].name + "'", value);
    result.emplace(witness.state[i].name, value);
  }
  return result;
}

class Search {
 public:
  explicit Search(const Witness& witness) : witness_(witness) {}

  bool gives_back_outputs(const std::vector<Expression>& section) const {
    const Replacements sigma = each_variable(witness_, [&](std::size_t i) { return section[i]; });
    return std::all_of(witness_.finaliser.begin(), witness_.finaliser.end(), [&](const Output& output) {
      return simplify(substitute(output.value, sigma)) == Expression::array(output.name);
    });
  }

  bool merges(const std::vector<Expression>& section) const {
    Replacements plain, sectioned;
    for (const std::string side : {"''", "'''"}) {
      const Replacements here =
          each_variable(witness_, [&](std::size_t i) { return Expression::array(witness_.state[i].name + side); });
      Replacements outputs;
      for (const Output& output : witness_.finaliser) outputs.emplace(output.name, substitute(output.value, here));
      for (std::size_t i = 0; i < witness_.state.size(); ++i) {
        const std::string name = witness_.state[i].name + side;
        plain.emplace(name, Expression::array(name));
        sectioned.emplace(name, simplify(substitute(section[i], outputs)));
      }
    }
    const Replacements full = merged_state(witness_, plain), small = merged_state(witness_, sectioned);
    return std::all_of(witness_.finaliser.begin(), witness_.finaliser.end(), [&](const Output& output) {
      return proven_equal_as_quotients(substitute(output.value, full), substitute(output.value, small));
    });
  }

 private:
  const Witness& witness_;
};

std::vector<std::string> kept_outputs(const std::vector<Expression>& section) {
  std::vector<std::string> kept;
  for (const Expression& value : section)
    if (value.kind() == Expression::Kind::array && !contains(kept, value.name())) kept.push_back(value.name());
  return kept;
}

// size(axis) in a finaliser is the number of positions, which a section would also have to carry.
bool reads_size(const Witness& witness) {
  return std::any_of(witness.finaliser.begin(), witness.finaliser.end(), [&](const Output& output) {
    const auto axes = output.value.size_axes();
    return contains(axes, witness.axis);
  });
}

}  // namespace

std::optional<CompactState> compact_state(const Witness& witness) {
  if (witness.finaliser.empty() || reads_size(witness)) return std::nullopt;
  std::size_t length = 0;
  for (const Output& output : witness.finaliser) length += to_text(output.value).size();
  if (length > longest_finaliser) return std::nullopt;
  std::vector<std::vector<Expression>> options;
  std::size_t candidates = 1;
  for (const StateVariable& variable : witness.state) {
    options.push_back(choices(witness, variable));
    candidates *= options.back().size();
    if (candidates > most_candidates) return std::nullopt;
  }
  const Search search(witness);
  std::optional<std::vector<Expression>> best;
  std::size_t fewest = witness.state.size();  // must carry fewer values than the state
  for (std::size_t candidate = 0; candidate < candidates; ++candidate) {
    std::vector<Expression> section;
    std::size_t rest = candidate;
    for (const auto& each : options) section.push_back(each[rest % each.size()]), rest /= each.size();
    const std::size_t carried = kept_outputs(section).size();
    if (carried < fewest && search.gives_back_outputs(section) && search.merges(section))
      best = std::move(section), fewest = carried;
  }
  if (!best) return std::nullopt;
  CompactState compact;
  for (std::size_t i = 0; i < best->size(); ++i) compact.section.emplace_back(witness.state[i].name, (*best)[i]);
  compact.outputs = kept_outputs(*best);
  return compact;
}

}  // namespace tilescope
