#include "stream/compact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>

#include "base/contains.h"
#include "expr/evaluate.h"
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

// Values of names: those that are given, and for every other name a number of its own from 0.5 to 1.5.
class Numbers : public Lookup {
 public:
  explicit Numbers(std::uint64_t seed) : seed_(seed) {}
  std::map<std::string, double, std::less<>> known{};

  double array(const std::string& name) const override {
    const auto at = known.find(name);
    return at == known.end() ? any(name) : at->second;
  }
  double index(const std::string& axis) const override { return any("index " + axis); }
  double size(const std::string& axis) const override { return any("size " + axis); }

 private:
  double any(const std::string& name) const {
    std::uint64_t hash = 14695981039346656037ULL + seed_;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    hash ^= hash >> 29, hash *= 0xbf58476d1ce4e5b9ULL, hash ^= hash >> 32;
    return 0.5 + static_cast<double>(hash >> 11) * 0x1p-53;
  }
  std::uint64_t seed_;
};

// Whether two values of one point show that expressions differ: rounding does not explain the difference.
bool different(double a, double b) {
  return std::isfinite(a) && std::isfinite(b) && std::abs(a - b) > 1e-6 * std::max({1.0, std::abs(a), std::abs(b)});
}

class Search {
 public:
  explicit Search(const Witness& witness) : witness_(witness) {
    for (std::size_t i = 0; i < witness.state.size(); ++i) merged_.push_back(merged_value(witness, i));
    Replacements plain;
    for (const char* side : {"''", "'''"})
      for (const StateVariable& variable : witness_.state)
        plain.emplace(variable.name + side, Expression::array(variable.name + side));
    full_ = merged_state(witness_, plain);
  }

  // Whether numbers show that the section is wrong: most candidates are, and a proof takes long.
  bool refuted(const std::vector<Expression>& section) const {
    const std::array seeds{1, 2};
    return std::any_of(seeds.begin(), seeds.end(), [&](int seed) {
      return loses_outputs(section, static_cast<std::uint64_t>(seed)) ||
             merges_to_others(section, static_cast<std::uint64_t>(seed));
    });
  }

  bool gives_back_outputs(const std::vector<Expression>& section) const {
    const Replacements sigma = each_variable(witness_, [&](std::size_t i) { return section[i]; });
    return std::all_of(witness_.finaliser.begin(), witness_.finaliser.end(), [&](const Output& output) {
      return simplify(substitute(output.value, sigma)) == Expression::array(output.name);
    });
  }

  bool merges(const std::vector<Expression>& section) const {
    Replacements sectioned;
    for (const std::string side : {"''", "'''"}) {
      const Replacements here =
          each_variable(witness_, [&](std::size_t i) { return Expression::array(witness_.state[i].name + side); });
      Replacements outputs;
      for (const Output& output : witness_.finaliser) outputs.emplace(output.name, substitute(output.value, here));
      for (std::size_t i = 0; i < witness_.state.size(); ++i)
        sectioned.emplace(witness_.state[i].name + side, simplify(substitute(section[i], outputs)));
    }
    const Replacements small = merged_state(witness_, sectioned);
    return std::all_of(witness_.finaliser.begin(), witness_.finaliser.end(), [&](const Output& output) {
      return proven_equal_as_quotients(substitute(output.value, full_), substitute(output.value, small));
    });
  }

 private:
  bool loses_outputs(const std::vector<Expression>& section, std::uint64_t seed) const {
    const Numbers outputs(seed);
    Numbers state(seed);
    for (std::size_t i = 0; i < section.size(); ++i)
      state.known[witness_.state[i].name] = evaluate(section[i], outputs);
    return std::any_of(witness_.finaliser.begin(), witness_.finaliser.end(), [&](const Output& output) {
      return different(evaluate(output.value, state), outputs.array(output.name));
    });
  }
  bool merges_to_others(const std::vector<Expression>& section, std::uint64_t seed) const {
    Numbers full(seed), small(seed);
    for (const char* side : {"''", "'''"}) {
      Numbers here(seed), outputs(seed);
      for (const StateVariable& variable : witness_.state) {
        const std::string name = variable.name + side;
        full.known[name] = here.known[variable.name] = full.array(name);
      }
      for (const Output& output : witness_.finaliser) outputs.known[output.name] = evaluate(output.value, here);
      for (std::size_t i = 0; i < section.size(); ++i)
        small.known[witness_.state[i].name + side] = evaluate(section[i], outputs);
    }
    const Numbers all = after_merge(full), sectioned = after_merge(small);
    return std::any_of(witness_.finaliser.begin(), witness_.finaliser.end(), [&](const Output& output) {
      return different(evaluate(output.value, all), evaluate(output.value, sectioned));
    });
  }
  Numbers after_merge(Numbers sides) const {
    for (std::size_t i = 0; i < merged_.size(); ++i) {
      const std::string& name = witness_.state[i].name;
      sides.known[name + "'"] = sides.known[name] = evaluate(merged_[i], sides);
    }
    return sides;
  }

  const Witness& witness_;
  std::vector<Expression> merged_;  // values of merged states, each over the two sides and earlier ones
  Replacements full_;               // the same written out
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
    if (carried < fewest && !search.refuted(section) && search.gives_back_outputs(section) && search.merges(section))
      best = std::move(section), fewest = carried;
  }
  if (!best) return std::nullopt;
  CompactState compact;
  for (std::size_t i = 0; i < best->size(); ++i) compact.section.emplace_back(witness.state[i].name, (*best)[i]);
  compact.outputs = kept_outputs(*best);
  return compact;
}

}  // namespace tilescope
