#include "optimum/program/geometric_program.h"

#include <cmath>
#include <stdexcept>

#include "optimum/program/log_program.h"

namespace tilescope {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void require_shape(const Posynomial& posynomial, Eigen::Index variables, const char* what) {
  const bool fits = posynomial.log_coefficients.size() > 0 && posynomial.exponents.cols() == variables &&
                    posynomial.exponents.rows() == posynomial.log_coefficients.size();
  if (!fits)
    throw std::invalid_argument(std::string(what) +
                                ": a posynomial needs a row of exponents a term, a column a variable");
  if (!posynomial.log_coefficients.allFinite() || !posynomial.exponents.allFinite())
    throw std::invalid_argument(std::string(what) + ": coefficients must be positive and exponents finite");
}

void require_bounds(const Eigen::VectorXd& bounds, Eigen::Index variables) {
  if (bounds.size() != 0 && (bounds.size() != variables || !(bounds.array() >= 0).all()))
    throw std::invalid_argument("bounds of variables must be one non-negative number a variable");
}

// The programme over the variables that are not fixed by equal bounds, with bounds as monomial constraints.
struct Reduced {
  LogProgram program;
  std::vector<Eigen::Index> kept;
  Eigen::VectorXd start;  // of kept variables, within bounds
  Eigen::VectorXd fixed;  // y of all variables; kept ones are overwritten
  bool bounds_cross = false;
  bool bounded = true;  // every variable, on both sides: so is the objective
};

Posynomial reduced(const Posynomial& whole, Reduced& to) {
  const Eigen::VectorXd parts = whole.log_coefficients.cwiseAbs() + whole.exponents.cwiseAbs() * to.fixed.cwiseAbs();
  to.program.magnitude = std::max(to.program.magnitude, parts.maxCoeff());
  return {whole.log_coefficients + whole.exponents * to.fixed, whole.exponents(Eigen::all, to.kept)};
}

Posynomial bound(double log_coefficient, Eigen::Index variable, double exponent, Eigen::Index variables) {
  Posynomial row{Eigen::VectorXd::Constant(1, log_coefficient), Eigen::MatrixXd::Zero(1, variables)};
  row.exponents(0, variable) = exponent;
  return row;
}

Reduced reduce(const GeometricProgram& program) {
  const Eigen::Index variables = program.objective.exponents.cols();
  const auto log_or = [](const Eigen::VectorXd& bounds, Eigen::Index i, double otherwise) {
    return bounds.size() ? std::log(bounds[i]) : otherwise;
  };
  Reduced result;
  result.fixed = Eigen::VectorXd::Zero(variables);
  Eigen::VectorXd lower(variables), upper(variables);
  for (Eigen::Index i = 0; i < variables; ++i) {
    lower[i] = log_or(program.lower, i, -infinity), upper[i] = log_or(program.upper, i, infinity);
    if (lower[i] > upper[i]) result.bounds_cross = true;
    if (upper[i] - lower[i] <= 1e-12) result.fixed[i] = lower[i];  // the interval is too small for a barrier
    else result.kept.push_back(i);
  }
  const auto count = static_cast<Eigen::Index>(result.kept.size());
  result.program.objective = reduced(program.objective, result);
  for (const Posynomial& constraint : program.constraints)
    result.program.constraints.push_back(reduced(constraint, result));
  result.start = Eigen::VectorXd::Zero(count);
  for (Eigen::Index k = 0; k < count; ++k) {
    const double low = lower[result.kept[static_cast<std::size_t>(k)]],
                 high = upper[result.kept[static_cast<std::size_t>(k)]];
    if (std::isfinite(low)) result.program.constraints.push_back(bound(low, k, -1, count)), result.start[k] = low + 1;
    if (std::isfinite(high))
      result.program.constraints.push_back(bound(-high, k, 1, count)), result.start[k] = high - 1;
    if (std::isfinite(low) && std::isfinite(high)) result.start[k] = (low + high) / 2;
    else result.bounded = false;
  }
  return result;
}

double worst_constraint(const LogProgram& program, const Eigen::VectorXd& y) {
  double worst = -infinity;
  for (const Posynomial& constraint : program.constraints) worst = std::max(worst, soft_maximum(constraint, y).value);
  return worst;
}

Posynomial with_column(const Posynomial& posynomial, double exponent) {
  Posynomial wider = posynomial;
  wider.exponents.conservativeResize(Eigen::NoChange, posynomial.exponents.cols() + 1);
  wider.exponents.col(posynomial.exponents.cols()).setConstant(exponent);
  return wider;
}

// Phase I, itself a geometric programme: the least s with every constraint <= s.
BarrierResult find_feasible(const LogProgram& program, const Eigen::VectorXd& start, int most_steps) {
  constexpr double deep_enough = -0.5;  // a constraint value of exp(-0.5): well inside
  const Eigen::Index variables = start.size();
  LogProgram relaxed;
  relaxed.objective = {Eigen::VectorXd::Zero(1), Eigen::MatrixXd::Zero(1, variables + 1)};
  relaxed.objective.exponents(0, variables) = 1;
  for (const Posynomial& constraint : program.constraints) relaxed.constraints.push_back(with_column(constraint, -1));
  Eigen::VectorXd y(variables + 1);
  y << start, worst_constraint(program, start) + 1;
  BarrierResult result =
      minimise_with_barrier(relaxed, y, {.gap = 1e-10, .enough = deep_enough, .most_steps = most_steps});
  result.y = result.y.head(variables).eval();
  return result;
}

GeometricResult answer(GeometricStatus status, std::string reason, int steps) {
  GeometricResult result;
  result.status = status, result.reason = std::move(reason), result.steps = steps;
  result.value = status == GeometricStatus::unbounded ? 0 : infinity;
  result.lower_bound = status == GeometricStatus::infeasible ? infinity : 0;
  return result;
}

void require_program(const GeometricProgram& program) {
  const Eigen::Index variables = program.objective.exponents.cols();
  require_shape(program.objective, variables, "objective");
  for (const Posynomial& constraint : program.constraints) require_shape(constraint, variables, "constraint");
  require_bounds(program.lower, variables);
  require_bounds(program.upper, variables);
}

}  // namespace

GeometricResult solve(const GeometricProgram& program, const GeometricOptions& options) {
  require_program(program);
  const Reduced part = reduce(program);
  if (part.bounds_cross) return answer(GeometricStatus::infeasible, "a lower bound exceeds its upper bound", 0);
  Eigen::VectorXd y = part.start;
  int steps = 0;
  if (worst_constraint(part.program, y) > -1e-3) {
    if (y.size() == 0 && worst_constraint(part.program, y) > 1e-12)
      return answer(GeometricStatus::infeasible, "the fixed variables break a constraint", 0);
    if (y.size() > 0) {
      const BarrierResult feasible = find_feasible(part.program, y, options.most_steps);
      y = feasible.y, steps = feasible.steps;
      if (feasible.lower_bound > 0)
        return answer(GeometricStatus::infeasible, "no variables satisfy the constraints (certified by the dual)",
                      steps);
      if (!(worst_constraint(part.program, y) < 0)) {
        if (feasible.value <= 1e-8)
          return answer(GeometricStatus::infeasible, "the constraints can at best be met with equality", steps);
        return answer(GeometricStatus::stopped, "Newton's steps ended before a feasible start was found", steps);
      }
    }
  }
  if (!part.bounded && !dual_is_feasible(dual_system(part.program)))
    return answer(GeometricStatus::unbounded, "some direction lowers the objective for ever and breaks no constraint",
                  steps);

  BarrierResult best{.y = y, .value = soft_maximum(part.program.objective, y).value};
  if (y.size() == 0)
    best.lower_bound = best.value - 8 * std::numeric_limits<double>::epsilon() * (1 + part.program.magnitude);
  else
    best = minimise_with_barrier(part.program, y,
                                 {.gap = options.relative_gap,
                                  .worthless = options.worthless > 0 ? std::log(options.worthless) : -infinity,
                                  .most_steps = options.most_steps});
  GeometricResult result;
  Eigen::VectorXd all = part.fixed;
  for (std::size_t k = 0; k < part.kept.size(); ++k) all[part.kept[k]] = best.y[static_cast<Eigen::Index>(k)];
  result.variables = all.array().exp();
  result.value = std::exp(best.value), result.lower_bound = std::exp(best.lower_bound);
  result.relative_gap = -std::expm1(best.lower_bound - best.value);
  result.steps = steps + best.steps;
  result.status =
      result.relative_gap <= options.relative_gap * 1.001 ? GeometricStatus::optimal : GeometricStatus::stopped;
  if (result.status == GeometricStatus::stopped) result.reason = "Newton's steps ended before the gap closed";
  return result;
}

}  // namespace tilescope
