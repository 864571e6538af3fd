// Expressions over arrays at one point of the axes, compiled for many evaluations.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "diagram/diagram.h"

namespace tilescope {

using Coordinates = std::array<std::int64_t, max_axes>;  // by AxisId

// All values of an array, slowest axis first.
struct Values {
  std::vector<AxisId> axes{};
  Coordinates strides{};  // by AxisId; 0 where the array lacks the axis
  std::vector<double> all{};

  Values() = default;
  Values(const std::vector<AxisId>& of, const Coordinates& sizes, double fill);
  double& at(const Coordinates& point) { return all[offset(point)]; }
  double at(const Coordinates& point) const { return all[offset(point)]; }
  std::size_t offset(const Coordinates& point) const {
    std::int64_t place = 0;
    for (const AxisId axis : axes) place += point[index(axis)] * strides[index(axis)];
    return static_cast<std::size_t>(place);
  }
};

// A half-open range of each axis.
struct Box {
  Coordinates first{}, end{};
  std::int64_t volume(const std::vector<AxisId>& axes) const;
};

// Every point of the box along these axes; the other coordinates keep what they are.
template <class Visit>
void for_each_point(const std::vector<AxisId>& axes, const Box& box, Coordinates& point, const Visit& visit,
                    std::size_t from = 0) {
  if (from == axes.size()) return visit();
  const std::size_t axis = index(axes[from]);
  for (point[axis] = box.first[axis]; point[axis] < box.end[axis]; ++point[axis])
    for_each_point(axes, box, point, visit, from + 1);
}

class NumericExpression {
 public:
  // Where the values of a name lie; `finite`: infinite values are read as 0.
  struct Source {
    const Values* values = nullptr;
    bool finite = false;
  };
  using Find = std::function<Source(const std::string&)>;

  NumericExpression() = default;
  NumericExpression(const Expression& expression, const Diagram& diagram, const Coordinates& sizes, const Find& find);
  double at(const Coordinates& point) const;

 private:
  struct Step {
    Expression::Kind kind{};
    Function function{};
    double number = 0;
    Source source{};
    std::size_t axis = 0;
    int operands = 0;
  };
  void add(const Expression& expression, const Diagram& diagram, const Coordinates& sizes, const Find& find);

  std::vector<Step> steps_;
  mutable std::vector<double> stack_;
};

}  // namespace tilescope
