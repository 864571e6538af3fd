// A geometric programme in logarithms, and its dual: internal to the solver.
#pragma once

#include <limits>

#include "optimum/program/geometric_program.h"

namespace tilescope {

// Minimise log-sum-exp(objective) over y with every log-sum-exp(constraint) <= 0.
struct LogProgram {
  Posynomial objective;
  std::vector<Posynomial> constraints;
  double magnitude = 0;  // largest number from which a coefficient was computed; its rounding error is relative to it
};

struct SoftMaximum {
  double value = 0;         // log of the posynomial at exp(y)
  Eigen::VectorXd weights;  // each term's share
};

SoftMaximum soft_maximum(const Posynomial& posynomial, const Eigen::VectorXd& y);

// The difference of log-sum-exp at y + step and at y, without cancellation for small steps.
double soft_maximum_change(const Posynomial& posynomial, const SoftMaximum& at, const Eigen::VectorXd& step);

// Weights of the dual programme: one a term of the objective, then of each constraint in turn.
struct DualSystem {
  Eigen::MatrixXd equalities;  // variables + 1 rows: exponents balance; the objective's weights sum to 1
  Eigen::VectorXd right;
};
DualSystem dual_system(const LogProgram& program);

// Whether any weights >= 0 satisfy the dual's equalities. By Farkas' lemma, if none do, some direction of y lowers
// every term of the objective and raises no term of a constraint. Non-negative least squares (Lawson and Hanson), in at
// most 3 * terms steps.
bool dual_is_feasible(const DualSystem& system);

// The dual's value, a lower bound on the log of the objective, at the non-negative weights nearest to the given ones
// (relative to their size) that satisfy the equalities; rounding errors are subtracted, where `reach` bounds |y| of
// points to be compared. -infinity when no such weights are near.
double dual_bound(const LogProgram& program, const DualSystem& system, Eigen::VectorXd weights, double reach);

struct BarrierResult {
  Eigen::VectorXd y;
  double value = 0;
  double lower_bound = -std::numeric_limits<double>::infinity();
  int steps = 0;
};

// From a strictly feasible y. Stops when value - lower_bound <= gap, when the value falls below `enough`, when steps
// run out, or when rounding ends progress.
struct BarrierEnds {
  double gap = 0;                                              // between value and bound
  double enough = -std::numeric_limits<double>::infinity();    // a value below which no lower one is wanted
  double worthless = std::numeric_limits<double>::infinity();  // a bound from which on the value is not wanted
  int most_steps = 0;
};
BarrierResult minimise_with_barrier(const LogProgram& program, Eigen::VectorXd y, const BarrierEnds& ends);

}  // namespace tilescope
