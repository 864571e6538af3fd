#include "optimum/exact.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "optimum/program/tropical.h"

namespace tilescope {
namespace {

using Rows = std::vector<std::vector<Rational>>;

Polynomial in_tiles(const std::vector<Power>& powers) { return Monomial{1, powers}; }

bool any_negative(const Polynomial& polynomial) {
  return std::any_of(polynomial.terms().begin(), polynomial.terms().end(),
                     [](const Monomial& term) { return term.coefficient < 0; });
}

// Tiles that reduce no traffic are optimal at 1, because memory does not fall when they grow.
void settle_idle_tiles(TileProblem& problem) {
  std::vector<SymbolId> kept;
  const TileTerms terms = by_tile_powers(problem.traffic, problem.tiles);
  for (const SymbolId tile : problem.tiles) {
    const auto lowers = [&](const auto& term) { return exponent_of(term.first, tile) < 0; };
    if (std::any_of(terms.begin(), terms.end(), lowers)) {
      kept.push_back(tile);
      continue;
    }
    problem.traffic = substitute(problem.traffic, tile, 1);
    problem.memory = substitute(problem.memory, tile, 1);
  }
  problem.tiles = kept;
}

// Why the problem does not have the form that can be solved; empty if it has.
std::string obstacle(const TileProblem& problem, const TileTerms& traffic, const TileTerms& memory,
                     const Symbols& symbols) {
  for (const auto& [powers, coefficient] : traffic)
    if (!powers.empty() && any_negative(coefficient))
      return "traffic has a negative term that depends on a tile: " + to_text(coefficient * in_tiles(powers), symbols);
  for (const auto& [powers, coefficient] : memory) {
    const bool falls =
        std::any_of(powers.begin(), powers.end(), [](const Power& factor) { return factor.exponent < 0; });
    if (falls || any_negative(coefficient))
      return "memory has a term that is negative or falls with a tile: " +
             to_text(coefficient * in_tiles(powers), symbols);
  }
  for (const SymbolId tile : problem.tiles) {
    const auto holds = [&](const auto& term) { return exponent_of(term.first, tile) > 0; };
    if (std::none_of(memory.begin(), memory.end(), holds))
      return symbols[tile].text + " costs no memory: its best value is the whole axis, whatever M is";
  }
  return "";
}

std::vector<Rational> row_of(const std::vector<Power>& powers, const std::vector<SymbolId>& tiles) {
  std::vector<Rational> row;
  for (const SymbolId tile : tiles) row.push_back(exponent_of(powers, tile));
  return row;
}

struct LeadingTerm {
  Polynomial coefficient;  // of traffic; of memory: per value of M; 1 for the bound of a tile from below
  std::vector<Rational> row;
};

// The terms that remain as M grows.
struct LeadingProgramme {
  std::vector<LeadingTerm> traffic, memory;
  std::vector<std::size_t> bounded;  // tiles that stay at 1
};

LeadingProgramme leading_programme(const TileTerms& traffic, const TileTerms& memory,
                                   const std::vector<SymbolId>& tiles, const Growth& best, ExactOptimum& result) {
  LeadingProgramme leading;
  const auto sort_out = [&](const TileTerms& terms, const Rational& wanted, std::vector<LeadingTerm>& kept,
                            Polynomial& dropped) {
    for (const auto& [powers, coefficient] : terms) {
      const std::vector<Rational> row = row_of(powers, tiles);
      if (dot(row, best.exponents) == wanted) kept.push_back({coefficient, row});
      else dropped += coefficient * in_tiles(powers);
    }
  };
  sort_out(traffic, best.growth, leading.traffic, result.dropped_traffic);
  sort_out(memory, 1, leading.memory, result.dropped_memory);
  for (std::size_t i = 0; i < tiles.size(); ++i)
    if (best.exponents[i] == 0) leading.bounded.push_back(i);
  return leading;
}

// The dual's equations: weights of traffic sum to 1, and every tile's exponents balance.
RationalSolution dual_weights(const LeadingProgramme& leading, std::size_t tiles) {
  std::vector<std::vector<Rational>> columns;
  for (const LeadingTerm& term : leading.traffic) columns.push_back(term.row);
  for (const LeadingTerm& term : leading.memory) columns.push_back(term.row);
  for (const std::size_t tile : leading.bounded) {
    std::vector<Rational> row(tiles, 0);
    row[tile] = -1;
    columns.push_back(row);
  }
  std::vector<RationalRow> equations(tiles + 1, RationalRow(columns.size() + 1, 0));
  for (std::size_t column = 0; column < columns.size(); ++column) {
    for (std::size_t tile = 0; tile < tiles; ++tile) equations[tile][column] = columns[column][tile];
    equations[tiles][column] = column < leading.traffic.size() ? 1 : 0;
  }
  equations[tiles].back() = 1;
  return solve_exactly(std::move(equations), columns.size());
}

// The dual's value at its only weights: product of (c/w)^w over traffic and (c * sum/w)^w over memory.
OptimumTerm dual_value(const LeadingProgramme& leading, const std::vector<Rational>& weights) {
  OptimumTerm term;
  const std::size_t first = leading.traffic.size();
  for (std::size_t i = 0; i < leading.memory.size(); ++i) term.beta += weights[first + i];
  for (std::size_t i = 0; i < first + leading.memory.size(); ++i) {
    const Rational& weight = weights[i];
    if (weight == 0) continue;
    const bool of_memory = i >= first;
    const Polynomial& coefficient = of_memory ? leading.memory[i - first].coefficient : leading.traffic[i].coefficient;
    term.alpha.multiply(coefficient * ((of_memory ? term.beta : Rational(1)) / weight), weight);
  }
  return term;
}

}  // namespace

ExactOptimum exact_optimum(const TileProblem& original, const Symbols& symbols) {
  TileProblem problem = original;
  settle_idle_tiles(problem);
  TileTerms traffic = by_tile_powers(problem.traffic, problem.tiles);
  const TileTerms memory = by_tile_powers(problem.memory, problem.tiles);
  ExactOptimum result;
  if (const auto constants = traffic.find({}); constants != traffic.end()) {
    result.constants = constants->second;
    traffic.erase(constants);
  }
  std::erase_if(traffic, [](const auto& term) { return term.second.is_zero(); });
  result.reason = obstacle(problem, traffic, memory, symbols);
  if (!result.reason.empty()) return result;
  result.closed = traffic.empty();
  if (result.closed) return result;

  Rows traffic_rows, memory_rows;
  for (const auto& term : traffic) traffic_rows.push_back(row_of(term.first, problem.tiles));
  for (const auto& term : memory) memory_rows.push_back(row_of(term.first, problem.tiles));
  const auto best = best_growth(traffic_rows, memory_rows, problem.tiles.size());
  if (!best) {
    result.reason = "too many tiles and terms to find the leading ones exactly";
    return result;
  }
  result.beta = -best->growth;
  const LeadingProgramme leading = leading_programme(traffic, memory, problem.tiles, *best, result);
  const RationalSolution dual = dual_weights(leading, problem.tiles.size());
  result.degree_of_difficulty = dual.free_unknowns;
  if (!dual.consistent) result.reason = "the leading terms do not balance: some tile grows or shrinks without limit";
  if (dual.free_unknowns > 0)
    result.reason = "degree of difficulty " + std::to_string(dual.free_unknowns) + ": no closed form, use numbers";
  if (!result.reason.empty()) return result;
  result.terms.push_back(dual_value(leading, dual.values));
  result.closed = true;
  return result;
}

ExactOptimum operator+(const ExactOptimum& a, const ExactOptimum& b) {
  ExactOptimum sum = a;
  sum.closed = a.closed && b.closed;
  if (a.reason.empty()) sum.reason = b.reason;
  else if (!b.reason.empty()) sum.reason += "; " + b.reason;
  sum.constants += b.constants;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  sum.degree_of_difficulty = std::max(a.degree_of_difficulty, b.degree_of_difficulty);
  if (!a.beta || (b.beta && *b.beta < *a.beta)) sum.beta = b.beta;
  sum.dropped_traffic += b.dropped_traffic, sum.dropped_memory += b.dropped_memory;
  return sum;
}

std::string to_text(const ExactOptimum& optimum, const Symbols& symbols) {
  if (!optimum.closed) return optimum.reason;
  std::string text;
  for (const OptimumTerm& term : optimum.terms) {
    if (!text.empty()) text += " + ";
    text += term.alpha.to_text(symbols);
    if (term.beta == 0) continue;
    const std::string exponent = to_text(-term.beta);
    text += "*M^" + (term.beta.is_integer() ? exponent : '(' + exponent + ')');
  }
  if (optimum.constants.is_zero() && !text.empty()) return text;
  const std::string rest = to_text(optimum.constants, symbols);
  if (text.empty()) return rest;
  return text + (rest.front() == '-' ? " - " + rest.substr(1) : " + " + rest);
}

double evaluate(const ExactOptimum& optimum, const Symbols& symbols, const Valuation& sizes, double memory) {
  if (!optimum.closed) throw std::domain_error("no closed form: " + optimum.reason);
  double sum = evaluate(optimum.constants, symbols, sizes);
  for (const OptimumTerm& term : optimum.terms)
    sum += term.alpha.evaluate(symbols, sizes) * std::pow(memory, -term.beta.to_double());
  return sum;
}

std::optional<Polynomial> leading_coefficient(const OptimumTerm& term, const std::map<SymbolId, Polynomial>& replaced) {
  std::optional<Polynomial> expanded = term.alpha.expanded();
  if (!expanded) return std::nullopt;
  for (const auto& [symbol, value] : replaced) expanded = substitute(*expanded, symbol, value);
  return top_degree_part(*expanded);
}

}  // namespace tilescope
