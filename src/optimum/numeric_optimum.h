// The least traffic at given memories by the geometric programme, and a power law fitted to such values.
#pragma once

#include <span>
#include <vector>

#include "optimum/program/geometric_program.h"
#include "optimum/tile_problem.h"

namespace tilescope {

// The geometric programme of a tile problem at one memory, and the traffic that no tile changes.
struct NumericProgramme {
  GeometricProgram program;  // tiles >= 1
  double constants = 0;
};

// `sizes` gives every symbol but the tiles; `largest` bounds those tiles it names (by their axes). std::domain_error
// for a negative coefficient of a tile-dependent term or of memory: such a problem is not a geometric programme.
NumericProgramme numeric_programme(const TileProblem& problem, const Symbols& symbols, const Valuation& sizes,
                                   double memory, const Valuation& largest = {});

struct OptimumRow {
  double memory = 0;
  double traffic = 0;      // H*(M), constants included
  double lower_bound = 0;  // certified, likewise
  std::vector<double> tiles{};
  GeometricStatus status = GeometricStatus::stopped;
};

std::vector<OptimumRow> numeric_optimum(const TileProblem& problem, const Symbols& symbols, const Valuation& sizes,
                                        std::span<const double> memories, const Valuation& largest = {});

// value = exp(log_alpha) * memory^slope in least squares of logarithms.
struct PowerFit {
  double slope = 0;
  double log_alpha = 0;
  double worst_error = 0;  // largest |log(value) - fit|
};

// std::invalid_argument unless two or more different memories, and as many values, all positive, are given.
PowerFit fit_power_law(std::span<const double> memories, std::span<const double> values);

}  // namespace tilescope
