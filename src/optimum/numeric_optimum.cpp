#include "optimum/numeric_optimum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tilescope {
namespace {

// Terms with positive coefficients as a posynomial; zero ones are left out.
Posynomial posynomial(const TileTerms& terms, const TileProblem& problem, const Symbols& symbols,
                      const Valuation& sizes) {
  std::vector<std::pair<double, const std::vector<Power>*>> kept;
  for (const auto& [powers, coefficient] : terms) {
    const double value = evaluate(coefficient, symbols, sizes);
    if (!(value >= 0))
      throw std::domain_error("a geometric programme needs positive terms; found " + std::to_string(value) + " = " +
                              to_text(coefficient, symbols));
    if (value > 0) kept.emplace_back(value, &powers);
  }
  const auto rows = static_cast<Eigen::Index>(kept.size()), columns = static_cast<Eigen::Index>(problem.tiles.size());
  Posynomial result{Eigen::VectorXd(rows), Eigen::MatrixXd(rows, columns)};
  for (Eigen::Index row = 0; row < rows; ++row) {
    const auto& [coefficient, powers] = kept[static_cast<std::size_t>(row)];
    result.log_coefficients[row] = std::log(coefficient);
    for (Eigen::Index i = 0; i < columns; ++i)
      result.exponents(row, i) = exponent_of(*powers, problem.tiles[static_cast<std::size_t>(i)]).to_double();
  }
  return result;
}

}  // namespace

NumericProgramme numeric_programme(const TileProblem& problem, const Symbols& symbols, const Valuation& sizes,
                                   double memory, const Valuation& largest) {
  if (!(memory > 0)) throw std::invalid_argument("the memory that tiles must fit must be positive");
  NumericProgramme result;
  TileTerms traffic = by_tile_powers(problem.traffic, problem.tiles);
  if (const auto constants = traffic.find({}); constants != traffic.end()) {
    result.constants = evaluate(constants->second, symbols, sizes);
    traffic.erase(constants);
  }
  result.program.objective = posynomial(traffic, problem, symbols, sizes);
  // Without terms the traffic does not depend on tiles: any tiles that fit are optimal.
  if (result.program.objective.log_coefficients.size() == 0) {
    traffic[{}] = 1;
    result.constants -= 1;
    result.program.objective = posynomial(traffic, problem, symbols, sizes);
  }
  Posynomial held = posynomial(by_tile_powers(problem.memory, problem.tiles), problem, symbols, sizes);
  held.log_coefficients.array() -= std::log(memory);
  if (held.log_coefficients.size() > 0) result.program.constraints.push_back(std::move(held));
  const auto tiles = static_cast<Eigen::Index>(problem.tiles.size());
  result.program.lower = Eigen::VectorXd::Ones(tiles);
  result.program.upper = Eigen::VectorXd::Constant(tiles, std::numeric_limits<double>::infinity());
  for (Eigen::Index i = 0; i < tiles; ++i)
    if (const auto bound = largest.find(problem.tiles[static_cast<std::size_t>(i)]); bound != largest.end())
      result.program.upper[i] = bound->second;
  return result;
}

std::vector<OptimumRow> numeric_optimum(const TileProblem& problem, const Symbols& symbols, const Valuation& sizes,
                                        std::span<const double> memories, const Valuation& largest) {
  std::vector<OptimumRow> rows;
  for (const double memory : memories) {
    const NumericProgramme numbers = numeric_programme(problem, symbols, sizes, memory, largest);
    const GeometricResult best = solve(numbers.program);
    rows.push_back({memory,
                    best.value + numbers.constants,
                    best.lower_bound + numbers.constants,
                    {best.variables.begin(), best.variables.end()},
                    best.status});
  }
  return rows;
}

PowerFit fit_power_law(std::span<const double> memories, std::span<const double> values) {
  const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
  const bool usable = memories.size() == values.size() && std::all_of(memories.begin(), memories.end(), positive) &&
                      std::all_of(values.begin(), values.end(), positive);
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  const auto count = static_cast<double>(memories.size());
  for (std::size_t i = 0; usable && i < memories.size(); ++i)
    mean_x += std::log(memories[i]) / count, mean_y += std::log(values[i]) / count;
  for (std::size_t i = 0; usable && i < memories.size(); ++i) {
    const double x = std::log(memories[i]) - mean_x;
    xx += x * x, xy += x * (std::log(values[i]) - mean_y);
  }
  if (!(xx > 0)) throw std::invalid_argument("a power law needs two or more different memories and positive values");
  PowerFit fit{.slope = xy / xx, .log_alpha = mean_y - xy / xx * mean_x};
  for (std::size_t i = 0; i < memories.size(); ++i)
    fit.worst_error =
        std::max(fit.worst_error, std::abs(std::log(values[i]) - fit.log_alpha - fit.slope * std::log(memories[i])));
  return fit;
}

}  // namespace tilescope
