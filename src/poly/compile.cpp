// Builds programs: numbers every symbol, then finds shared sub-products greedily, the most frequent pair first.
#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "poly/program.h"

namespace tilescope {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Symbols& symbols) : symbols_(symbols) {
    program_.input_count_ = symbols.inputs().size();
    program_.external_count_ = symbols.externals().size();
  }

  Program build(std::span<const Polynomial> polynomials) {
    for (const Polynomial& polynomial : polynomials) add_sum(polynomial);
    first_product_ = supplied() + static_cast<Slot>(program_.derived_.size());
    share_pairs();
    for (std::size_t i = 0; i < factors_.size(); ++i) program_.terms_[i].product = product_of(factors_[i]);
    return std::move(program_);
  }

 private:
  using Slot = Program::Slot;
  using Pair = std::pair<Slot, Slot>;
  using Factors = std::vector<Slot>;  // of a term: sorted, repeated by its power

  Slot supplied() const { return static_cast<Slot>(1 + program_.input_count_ + program_.external_count_); }

  void add_sum(const Polynomial& polynomial) {
    std::int64_t denominator = 1;
    for (const Monomial& term : polynomial.terms()) {
      const std::int64_t other = term.coefficient.denominator();
      denominator = checked_mul(denominator / std::gcd(denominator, other), other);
    }
    for (const Monomial& term : polynomial.terms()) {
      factors_.push_back(factors_of(term));
      program_.terms_.push_back({(term.coefficient * denominator).numerator(), 0});
    }
    program_.sums_.push_back({program_.terms_.size(), denominator});
  }

  Factors factors_of(const Monomial& term) {
    constexpr int most = 64;  // any symbol above 1 overflows at this power
    Factors factors;
    for (const Power& factor : term.powers) {
      if (!factor.exponent.is_integer() || factor.exponent < 0 || factor.exponent > most)
        throw std::invalid_argument("an exact count needs exponents of 1 to 64; found " + symbols_[factor.symbol].text +
                                    '^' + to_text(factor.exponent));
      factors.insert(factors.end(), static_cast<std::size_t>(factor.exponent.numerator()), slot_of(factor.symbol));
    }
    std::sort(factors.begin(), factors.end());
    return factors;
  }

  Slot slot_of(SymbolId symbol) {
    const SymbolDefinition& definition = symbols_[symbol];
    if (definition.kind == SymbolKind::input) return static_cast<Slot>(1 + definition.position);
    if (definition.kind == SymbolKind::external)
      return static_cast<Slot>(1 + program_.input_count_ + definition.position);
    const Slot first = slot_of(definition.first);
    if (definition.kind == SymbolKind::ceil_ratio)
      return derived(Program::DerivedBy::ceil, first, slot_of(definition.second));
    Slot most_trips = slot_of(definition.movers.front());
    for (std::size_t i = 1; i < definition.movers.size(); ++i)
      most_trips = derived(Program::DerivedBy::largest, most_trips, slot_of(definition.movers[i]));
    return derived(Program::DerivedBy::gate, first, most_trips);
  }

  Slot derived(Program::DerivedBy operation, Slot a, Slot b) {
    const auto next = supplied() + static_cast<Slot>(program_.derived_.size());
    const auto [place, is_new] = derived_.try_emplace({operation, a, b}, next);
    if (is_new) program_.derived_.push_back({operation, a, b});
    return place->second;
  }

  Slot multiply(Slot a, Slot b) {
    const auto next = first_product_ + static_cast<Slot>(program_.products_.size());
    const auto [place, is_new] = products_.try_emplace(std::minmax(a, b), next);
    if (is_new) program_.products_.push_back({a, b});
    return place->second;
  }

  // The pair of factors that most products contain, counted with multiplicity; {} if no pair is shared.
  std::pair<Pair, int> most_frequent_pair() const {
    std::map<Pair, int> counts;
    for (const Factors& factors : factors_) {
      std::map<Slot, int> multiplicity;
      for (const Slot slot : factors) ++multiplicity[slot];
      for (auto a = multiplicity.begin(); a != multiplicity.end(); ++a) {
        if (a->second > 1) counts[{a->first, a->first}] += a->second / 2;
        for (auto b = std::next(a); b != multiplicity.end(); ++b)
          counts[{a->first, b->first}] += std::min(a->second, b->second);
      }
    }
    std::pair<Pair, int> best{{}, 1};
    for (const auto& [pair, count] : counts)
      if (count > best.second) best = {pair, count};
    return best;
  }

  static bool take(Factors& factors, Pair pair) {
    const auto first = std::find(factors.begin(), factors.end(), pair.first);
    if (first == factors.end()) return false;
    const auto second = std::find(first + 1, factors.end(), pair.second);
    if (second == factors.end()) return false;
    factors.erase(second);
    factors.erase(first);
    return true;
  }

  void share_pairs() {
    for (auto best = most_frequent_pair(); best.second > 1; best = most_frequent_pair()) {
      const Slot product = multiply(best.first.first, best.first.second);
      for (Factors& factors : factors_) {
        int taken = 0;
        while (take(factors, best.first)) ++taken;
        factors.insert(factors.end(), static_cast<std::size_t>(taken), product);  // the largest slot so far: sorted
      }
    }
  }

  Slot product_of(const Factors& factors) {
    if (factors.empty()) return 0;
    Slot product = factors.front();
    for (std::size_t i = 1; i < factors.size(); ++i) product = multiply(product, factors[i]);
    return product;
  }

  const Symbols& symbols_;
  Program program_;
  std::vector<Factors> factors_;  // of program_.terms_
  std::map<std::tuple<Program::DerivedBy, Slot, Slot>, Slot> derived_;
  std::map<Pair, Slot> products_;
  Slot first_product_ = 0;
};

Program compile(const Symbols& symbols, std::span<const Polynomial> polynomials) {
  return ProgramBuilder(symbols).build(polynomials);
}

}  // namespace tilescope
