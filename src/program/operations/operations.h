// What threads execute for a program, by kind of operation and by the axes over whose elements it repeats: the
// expressions of its statements and its folds. Matrix products are not among them; their operands are.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_table.h"
#include "diagram/primitives.h"
#include "program/program.h"

namespace tilescope {

// special: exp2, log2, reciprocal, square roots, tanh; compare: maximum or minimum; position: an index as a number.
enum class Operation { special, multiply_add, add, multiply, compare, position };
template <>
struct EnumTable<Operation> {
  static constexpr std::array rows{
      NamedKind{Operation::special, "special"}, NamedKind{Operation::multiply_add, "multiply_add"},
      NamedKind{Operation::add, "add"},         NamedKind{Operation::multiply, "multiply"},
      NamedKind{Operation::compare, "compare"}, NamedKind{Operation::position, "position"}};
};
inline constexpr std::size_t operation_count = kind_count<Operation>;
using OperationCounts = std::array<int, operation_count>;

// step: in the steps of the innermost loop; leaving: outside of it, as tiles are left; last: at the last visit to a
// tile that a loop comes back to.
enum class Moment { step, leaving, last };

struct OperationGroup {
  Moment when = Moment::step;
  std::vector<AxisId> axes{};  // in order: one execution for each element over these
  OperationCounts counts{};
};

// Values that change between the format of memory or of a product and the fp32 of threads.
struct ValueConversion {
  enum class Kind { load, store, operand };
  Kind kind = Kind::load;
  Moment when = Moment::step;
  std::vector<AxisId> axes{};
  ArrayId array{};  // load, store: in memory
  int op = -1;      // operand: the product's position in Diagram::operators
};

struct ProgramOperations {
  std::vector<OperationGroup> groups{};  // each moment and set of axes once
  std::vector<ValueConversion> conversions{};
  bool masked = false;  // folds leave out positions that the mask hides
};

// Counts expressions, each distinct sub-expression once and over no more axes than it has:
//
//   a + b*c     one multiply-add, where the product has the axes of the sum and no other use
//   a / b       a reciprocal over the axes of b, and a product
//   exp(a - b)  exp2 of one multiply-add, b times log2(e) over its own axes where they are fewer
//   log(a)      log2 and a product; sigmoid(a): tanh, a product, a multiply-add; pow(a, n): repeated squares
class OperationCounter {
 public:
  using Axes = std::vector<AxisId>;
  explicit OperationCounter(const Diagram& diagram) : diagram_(diagram) {}

  void set_axes(const std::string& name, Axes axes);  // of a name in expressions
  // Adds what the value takes. fused: but its last product, which is part of a multiply-add; only where it ends in one.
  void count(Moment when, const Expression& value, bool fused = false);
  void add(Moment when, Axes axes, Operation operation, int times = 1);
  Axes axes_of(const Expression& value) const;
  bool ends_in_product(const Expression& value) const;
  const std::vector<OperationGroup>& groups() const { return groups_; }

 private:
  bool first_use(Moment when, const std::string& value);
  bool used(Moment when, const Expression& value) const;
  void count_sum(Moment when, const Expression& value);
  void count_product(Moment when, const Expression& value, bool fused);
  void count_call(Moment when, const Expression& value, bool fused);
  void count_exp(Moment when, const Expression& value);

  const Diagram& diagram_;
  std::vector<std::pair<std::string, Axes>> names_;
  std::vector<std::pair<Moment, std::string>> seen_;
  std::vector<OperationGroup> groups_;
};

// Of one island; `primitives`: expand(schedule.diagram). Nothing where its program cannot be built.
ProgramOperations operations_of(const Schedule& schedule, const Primitives& primitives, int island);

}  // namespace tilescope
