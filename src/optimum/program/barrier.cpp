// Damped Newton steps on the log barrier of a geometric programme in logarithms.
#include <Eigen/Dense>
#include <cmath>

#include "optimum/program/log_program.h"

namespace tilescope {
namespace {

constexpr double longest_step = 20;  // in y: a factor of 5e8 in a variable

// Square root of scale * (the posynomial's Hessian), a row a term; `gradient` is the posynomial's.
void put_root(const Posynomial& posynomial, const SoftMaximum& at, double scale, Eigen::VectorXd& gradient,
              Eigen::Ref<Eigen::MatrixXd> root) {
  gradient = posynomial.exponents.transpose() * at.weights;
  root = (scale * at.weights).cwiseSqrt().asDiagonal() * (posynomial.exponents.rowwise() - gradient.transpose());
}

// Solves root^T root x = right from the QR factors of `root`: near-active constraints and flat objectives differ in
// scale by more digits than a double has if the matrix is squared.
Eigen::VectorXd solve_normal(const Eigen::MatrixXd& root, const Eigen::VectorXd& right) {
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(root);
  const auto triangle = factors.matrixR().topRows(root.cols()).triangularView<Eigen::Upper>();
  const auto solved = [&](const Eigen::VectorXd& wanted) -> Eigen::VectorXd {
    const Eigen::VectorXd inner = triangle.transpose().solve(factors.colsPermutation().transpose() * wanted);
    return factors.colsPermutation() * triangle.solve(inner);
  };
  const Eigen::VectorXd x = solved(right);
  return x + solved(right - root.transpose() * (root * x));
}

// The barrier problem at one y: sharpness * objective - sum of log(-constraint).
class Centre {
 public:
  Centre(const LogProgram& program, const Eigen::VectorXd& y)
      : program_(&program), objective_(soft_maximum(program.objective, y)) {
    for (const Posynomial& constraint : program.constraints) constraints_.push_back(soft_maximum(constraint, y));
  }

  double value() const { return objective_.value; }
  bool inside() const {
    for (const SoftMaximum& constraint : constraints_)
      if (!(constraint.value < 0)) return false;
    return std::isfinite(objective_.value);
  }

  // Newton's direction; `decrement` is the decrease it promises, to first order.
  Eigen::VectorXd direction(double sharpness, double& decrement) const {
    const Eigen::Index variables = program_->objective.exponents.cols();
    Eigen::Index rows = objective_.weights.size() + variables;
    for (const SoftMaximum& constraint : constraints_) rows += constraint.weights.size() + 1;
    Eigen::MatrixXd root(rows, variables);
    Eigen::VectorXd part(variables), gradient;
    Eigen::Index at = objective_.weights.size();
    put_root(program_->objective, objective_, sharpness, part, root.topRows(at));
    gradient = sharpness * part;
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      const double slack = -constraints_[i].value;
      const Eigen::Index terms = constraints_[i].weights.size();
      put_root(program_->constraints[i], constraints_[i], 1 / slack, part, root.middleRows(at, terms));
      root.row(at + terms) = part / slack;
      gradient += part / slack;
      at += terms + 1;
    }
    // Keeps the step finite in flat directions.
    root.bottomRows(variables) = 1e-6 * Eigen::MatrixXd::Identity(variables, variables);
    Eigen::VectorXd step = solve_normal(root, -gradient);
    if (!step.allFinite() || gradient.dot(step) > 0) step = -gradient;
    const double length = step.cwiseAbs().maxCoeff();
    if (length > longest_step) step *= longest_step / length;
    decrement = -gradient.dot(step);
    return step;
  }

  // Change of the barrier problem's value along `step`; infinite outside.
  double change(double sharpness, const Eigen::VectorXd& step) const {
    double sum = sharpness * soft_maximum_change(program_->objective, objective_, step);
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      const double moved = soft_maximum_change(program_->constraints[i], constraints_[i], step);
      if (!(constraints_[i].value + moved < 0)) return std::numeric_limits<double>::infinity();
      sum -= std::log1p(moved / constraints_[i].value);
    }
    return sum;
  }

  // Dual weights from the barrier: the objective's term shares, and a constraint's shares times 1/(sharpness * slack),
  // each corrected to first order along Newton's `step`. The correction balances the dual's exponents at any distance
  // of y from the centre.
  Eigen::VectorXd dual_weights(double sharpness, Eigen::Index count, const Eigen::VectorXd& step) const {
    Eigen::VectorXd weights(count);
    Eigen::Index at = 0;
    const auto append = [&](const Posynomial& posynomial, const SoftMaximum& here, double multiplier, double slack) {
      const Eigen::VectorXd changes = posynomial.exponents * step;
      const double mean = here.weights.dot(changes);
      weights.segment(at, changes.size()) =
          multiplier * here.weights.array() * (1 + changes.array() - mean + mean / slack);
      at += changes.size();
    };
    append(program_->objective, objective_, 1, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      const double slack = -constraints_[i].value;
      append(program_->constraints[i], constraints_[i], 1 / (sharpness * slack), slack);
    }
    return weights;
  }

 private:
  const LogProgram* program_;
  SoftMaximum objective_;
  std::vector<SoftMaximum> constraints_;
};

// One damped step along `direction`; false when the centre is reached or rounding ends progress.
bool step_to_centre(const LogProgram& program, double sharpness, const Eigen::VectorXd& direction, double decrement,
                    Eigen::VectorXd& y, Centre& centre) {
  if (!(decrement > 1e-9)) return false;
  for (double share = 1; share > 1e-12; share /= 2) {
    const Eigen::VectorXd step = share * direction;
    if (!(centre.change(sharpness, step) <= -0.1 * share * decrement)) continue;
    const Eigen::VectorXd moved = y + step;
    Centre next(program, moved);
    if (!next.inside()) continue;
    y = moved, centre = std::move(next);
    return true;
  }
  return false;
}

}  // namespace

BarrierResult minimise_with_barrier(const LogProgram& program, Eigen::VectorXd y, const BarrierEnds& ends) {
  constexpr double sharpen = 20, sharpest = 1e14;
  constexpr int most_steps_a_centre = 50;  // an unbounded variable has no centre and diverges
  const DualSystem system = dual_system(program);
  Centre centre(program, y);
  BarrierResult best{.y = y, .value = centre.value()};
  for (double sharpness = 1; sharpness <= sharpest; sharpness *= sharpen) {
    const int last = std::min(ends.most_steps, best.steps + most_steps_a_centre);
    double decrement = 0;
    Eigen::VectorXd direction = centre.direction(sharpness, decrement);
    while (best.steps < last && step_to_centre(program, sharpness, direction, decrement, y, centre)) {
      ++best.steps;
      if (centre.value() < ends.enough) break;
      direction = centre.direction(sharpness, decrement);
    }
    if (centre.value() < best.value) best.y = y, best.value = centre.value();
    if (best.value < ends.enough) break;
    const Eigen::VectorXd weights = centre.dual_weights(sharpness, system.equalities.cols(), direction);
    const double bound = dual_bound(program, system, weights, y.cwiseAbs().maxCoeff());
    best.lower_bound = std::max(best.lower_bound, bound);
    if (best.value - best.lower_bound <= ends.gap || best.lower_bound >= ends.worthless ||
        best.steps >= ends.most_steps)
      break;
  }
  return best;
}

}  // namespace tilescope
