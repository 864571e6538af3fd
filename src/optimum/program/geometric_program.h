// Geometric programmes: the smallest posynomial value under posynomial constraints, with a certified lower bound.
//
// In y = log x each posynomial is a convex log-sum-exp, so a log barrier with damped Newton steps finds the optimum
// (Boyd and Vandenberghe, Convex Optimization, 4.5 and 11.3). The bound is the value of the dual geometric programme
// (Duffin, Peterson and Zener) at weights that satisfy its equalities: by the weighted arithmetic-geometric mean
// inequality no feasible x has a lower value, independent of the barrier's accuracy.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <string>
#include <vector>

namespace tilescope {

// sum over rows of exp(log_coefficient) * product over variables of x^exponent; all coefficients are positive.
struct Posynomial {
  Eigen::VectorXd log_coefficients;  // one a term
  Eigen::MatrixXd exponents;         // terms x variables
};

struct GeometricProgram {
  Posynomial objective;
  std::vector<Posynomial> constraints{};  // each <= 1
  Eigen::VectorXd lower{}, upper{};  // bounds of variables; empty: none; 0 and infinity: that variable is unbounded
};

enum class GeometricStatus {
  optimal,     // the certified gap is within the tolerance
  infeasible,  // no variables satisfy the constraints, or only the boundary does
  unbounded,   // the objective falls towards 0
  stopped,     // steps ran out; value and bound are valid but further apart than the tolerance
};

struct GeometricOptions {
  double relative_gap = 1e-9;
  // From this certified bound on nobody wants the optimum: the search ends.
  double worthless = std::numeric_limits<double>::infinity();
  int most_steps = 1000;  // Newton steps, and the bound on them: for the feasible start and again for the optimum
};

struct GeometricResult {
  GeometricStatus status = GeometricStatus::stopped;
  std::string reason{};         // in words, when not optimal
  Eigen::VectorXd variables{};  // feasible x, when there is one
  double value = 0;             // objective there; infinity without such x, 0 when unbounded
  double lower_bound = 0;       // certified up to rounding: no feasible x has a smaller objective
  double relative_gap = 1;      // (value - lower_bound) / value
  int steps = 0;                // Newton steps in all
};

// Throws std::invalid_argument when shapes disagree or a coefficient, exponent or bound is not a number.
GeometricResult solve(const GeometricProgram& program, const GeometricOptions& options = {});

}  // namespace tilescope
