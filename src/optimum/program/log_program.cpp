#include "optimum/program/log_program.h"

#include <Eigen/Dense>
#include <cmath>

namespace tilescope {
namespace {

Eigen::Index terms_of(const LogProgram& program) {
  Eigen::Index count = program.objective.log_coefficients.size();
  for (const Posynomial& constraint : program.constraints) count += constraint.log_coefficients.size();
  return count;
}

// Least squares on the columns marked free, zero elsewhere.
Eigen::VectorXd solve_free(const DualSystem& system, const std::vector<bool>& free) {
  std::vector<Eigen::Index> columns;
  for (std::size_t j = 0; j < free.size(); ++j)
    if (free[j]) columns.push_back(static_cast<Eigen::Index>(j));
  const Eigen::MatrixXd part = system.equalities(Eigen::all, columns);
  const Eigen::VectorXd solution = part.completeOrthogonalDecomposition().solve(system.right);
  Eigen::VectorXd all = Eigen::VectorXd::Zero(system.equalities.cols());
  for (std::size_t j = 0; j < columns.size(); ++j) all[columns[j]] = solution[static_cast<Eigen::Index>(j)];
  return all;
}

// One posynomial's share of the dual's value, and a bound on its rounding error.
void add_value(const Posynomial& posynomial, const Eigen::VectorXd& weights, double& value, double& size) {
  const double total = weights.sum();
  for (Eigen::Index j = 0; j < weights.size(); ++j) {
    if (weights[j] <= 0) continue;
    const double term = weights[j] * (posynomial.log_coefficients[j] - std::log(weights[j] / total));
    value += term;
    size += std::abs(weights[j] * posynomial.log_coefficients[j]) + std::abs(term);
  }
}

}  // namespace

SoftMaximum soft_maximum(const Posynomial& posynomial, const Eigen::VectorXd& y) {
  const Eigen::VectorXd logs = posynomial.log_coefficients + posynomial.exponents * y;
  const double largest = logs.maxCoeff();
  Eigen::VectorXd shares = (logs.array() - largest).exp();
  const double sum = shares.sum();
  return {largest + std::log(sum), shares / sum};
}

double soft_maximum_change(const Posynomial& posynomial, const SoftMaximum& at, const Eigen::VectorXd& step) {
  const Eigen::VectorXd changes = posynomial.exponents * step;
  double sum = 0;
  for (Eigen::Index j = 0; j < changes.size(); ++j) sum += at.weights[j] * std::expm1(changes[j]);
  return std::log1p(sum);
}

DualSystem dual_system(const LogProgram& program) {
  const Eigen::Index variables = program.objective.exponents.cols(), terms = terms_of(program);
  DualSystem system{Eigen::MatrixXd::Zero(variables + 1, terms), Eigen::VectorXd::Zero(variables + 1)};
  Eigen::Index column = program.objective.exponents.rows();
  system.equalities.topLeftCorner(variables, column) = program.objective.exponents.transpose();
  system.equalities.row(variables).head(column).setOnes();
  system.right[variables] = 1;
  for (const Posynomial& constraint : program.constraints) {
    const Eigen::Index rows = constraint.exponents.rows();
    system.equalities.block(0, column, variables, rows) = constraint.exponents.transpose();
    column += rows;
  }
  return system;
}

bool dual_is_feasible(const DualSystem& system) {
  const Eigen::Index terms = system.equalities.cols();
  const double tolerance = 1e-10 * (1 + system.equalities.cwiseAbs().maxCoeff());
  std::vector<bool> free(static_cast<std::size_t>(terms), false);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(terms);
  for (Eigen::Index step = 0; step < 3 * terms + 10; ++step) {
    const Eigen::VectorXd residual = system.right - system.equalities * weights;
    if (residual.norm() <= tolerance) return true;
    const Eigen::VectorXd gradient = system.equalities.transpose() * residual;
    Eigen::Index best = -1;
    for (Eigen::Index j = 0; j < terms; ++j)
      if (!free[static_cast<std::size_t>(j)] && gradient[j] > tolerance && (best < 0 || gradient[j] > gradient[best]))
        best = j;
    if (best < 0) return false;
    free[static_cast<std::size_t>(best)] = true;
    for (Eigen::Index inner = 0; inner <= terms; ++inner) {
      const Eigen::VectorXd wanted = solve_free(system, free);
      double share = 1;  // the largest step towards `wanted` that keeps every weight non-negative
      for (Eigen::Index j = 0; j < terms; ++j)
        if (free[static_cast<std::size_t>(j)] && wanted[j] <= 0)
          share = std::min(share, weights[j] / (weights[j] - wanted[j]));
      if (!(share >= 0)) share = 0;
      weights += share * (wanted - weights);
      if (share >= 1) break;
      for (Eigen::Index j = 0; j < terms; ++j)
        if (free[static_cast<std::size_t>(j)] && weights[j] <= 1e-14 && wanted[j] <= 0)
          free[static_cast<std::size_t>(j)] = false, weights[j] = 0;
    }
  }
  return (system.right - system.equalities * weights).norm() <= 1e-6;
}

double dual_bound(const LogProgram& program, const DualSystem& system, Eigen::VectorXd weights, double reach) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  if (!weights.allFinite()) return none;
  for (int round = 0; round < 4; ++round) {
    weights = weights.cwiseMax(0);  // clips weights that rounding made slightly negative
    const Eigen::VectorXd missing = system.right - system.equalities * weights;
    const Eigen::VectorXd scale = weights.cwiseSqrt();  // a weight's correction is measured relative to its size
    const Eigen::MatrixXd scaled = system.equalities * scale.asDiagonal();
    weights += scale.cwiseProduct(scaled.completeOrthogonalDecomposition().solve(missing));
  }
  weights = weights.cwiseMax(0);
  const Eigen::VectorXd missing = system.right - system.equalities * weights;
  if (!(missing.cwiseAbs().maxCoeff() <= 1e-12)) return none;  // no weights near the given ones satisfy the equalities
  double value = 0, size = 1 + weights.sum() * program.magnitude;
  Eigen::Index column = program.objective.log_coefficients.size();
  add_value(program.objective, weights.head(column), value, size);
  for (const Posynomial& constraint : program.constraints) {
    const Eigen::Index rows = constraint.log_coefficients.size();
    add_value(constraint, weights.segment(column, rows), value, size);
    column += rows;
  }
  // At any y the unbalanced exponents change the value by at most |missing| * |y|.
  return value - missing.cwiseAbs().sum() * (1 + reach) - 8 * std::numeric_limits<double>::epsilon() * size;
}

}  // namespace tilescope
