// The least traffic as a function of the memory, H*(M), in closed form (Napkin, arXiv 2412.03317, section 5).
//
// 1. A tile that lowers no traffic term goes to 1. Of the rest the leading programme keeps the terms of traffic and
//    memory that stay when M grows with sizes unbounded, decided exactly by a linear programme on exponents
//    (optimum/tropical.h). The omitted terms are reported.
// 2. Its dual has as many equations as unknowns when the degree of difficulty is 0: then weights are rational and
//    H* = constants + alpha * M^-beta with beta their sum over memory (Duffin, Peterson and Zener, 1967).
// 3. Otherwise the result is the degree of difficulty and beta, and optimum/numeric_optimum.h computes numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimum/program/power_product.h"
#include "optimum/tile_problem.h"

namespace tilescope {

// alpha * M^-beta.
struct OptimumTerm {
  PowerProduct alpha;
  Rational beta;
};

struct ExactOptimum {
  bool closed = false;     // `constants` and `terms` are H*(M) to leading order
  std::string reason{};    // why not, when not closed
  Polynomial constants{};  // traffic that no tile changes
  std::vector<OptimumTerm> terms{};
  int degree_of_difficulty = 0;
  std::optional<Rational> beta{};                  // of the leading term, also where not closed
  Polynomial dropped_traffic{}, dropped_memory{};  // negligible next to the kept terms as M grows
};

// Traffic that depends on a tile must have no negative coefficient, memory no negative coefficient or power of a tile;
// otherwise, and for a tile that costs no memory, the result is not closed and `reason` says why.
ExactOptimum exact_optimum(const TileProblem& problem, const Symbols& symbols);

// Islands that run one after another, each with all of M: the sums of their traffic. Closed when both are.
ExactOptimum operator+(const ExactOptimum& a, const ExactOptimum& b);

// "2*a*b*c*M^(-1/2) + a*c".
std::string to_text(const ExactOptimum& optimum, const Symbols& symbols);

// H*(M) at sizes; std::domain_error when not closed.
double evaluate(const ExactOptimum& optimum, const Symbols& symbols, const Valuation& sizes, double memory);

// The coefficient as a polynomial with symbols replaced in it (d_v by d_qk), of highest degree only: 4*q*x*d^2. Nothing
// when it is not a polynomial.
std::optional<Polynomial> leading_coefficient(const OptimumTerm& term, const std::map<SymbolId, Polynomial>& replaced);

}  // namespace tilescope
