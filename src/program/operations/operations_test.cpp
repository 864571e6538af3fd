// Operations of expressions against an execution element by element, and of schedules against what their kernels do.
#include "program/operations/operations.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "base/contains.h"
#include "base/test_seed.h"
#include "expr/parse.h"

namespace tilescope::operations_test {
namespace {

Expression expression_of(const std::string& text) { return std::get<Expression>(parse_expression(text)); }

Diagram plane() {
  Diagram diagram;
  for (const char* name : {"i", "j"}) diagram.axes.push_back({.name = name, .size = name});
  return diagram;
}
const std::map<std::string, std::string> axes_of_name{{"a", "ij"}, {"b", "i"}, {"c", "j"},
                                                      {"d", "ij"}, {"i", "i"}, {"j", "j"}};
constexpr std::array<int, 2> extents{3, 5};

// Executes an expression at every position and counts an instruction the first time that it has its operands' elements.
class Executed {
 public:
  std::array<std::int64_t, operation_count> counts{};

  void run(const Expression& value) {
    for (int i = 0; i < extents[0]; ++i)
      for (int j = 0; j < extents[1]; ++j) at_ = {i, j}, visit(value);
  }

 private:
  using Kind = Expression::Kind;
  static bool constant(const Expression& e) { return e.arrays().empty() && e.index_axes().empty(); }
  static std::string axes(const Expression& e) {
    std::set<char> found;
    for (const std::string& name : e.arrays())
      for (const char axis : axes_of_name.at(name)) found.insert(axis);
    for (const std::string& name : e.index_axes()) found.insert(name.front());
    return {found.begin(), found.end()};
  }
  // Whether this element of the instruction is executed for the first time.
  bool first(const std::string& what, const std::string& over) {
    std::string key = what + "@";
    for (const char axis : over) key += std::to_string(at_[axis == 'i' ? 0 : 1]) + ",";
    return done_.insert(key).second;
  }
  void one(Operation operation, int times = 1) { counts[static_cast<std::size_t>(operation)] += times; }

  void visit(const Expression& e) {
    if (constant(e) || e.kind() == Kind::array) return;
    if (e.kind() == Kind::negate) return visit(e.operands()[0]);
    if (!first(to_text(e), axes(e))) return;
    const auto operands = e.operands();
    for (const Expression& operand : operands) visit(operand);
    switch (e.kind()) {
      case Kind::index:
        return one(Operation::position);
      case Kind::add:
      case Kind::subtract:
        return one(Operation::add);
      case Kind::multiply:
        return operands[0].is_number(1) || operands[1].is_number(1) ? void() : one(Operation::multiply);
      case Kind::divide:
        if (!constant(operands[1]) && first("rcp " + to_text(operands[1]), axes(operands[1]))) one(Operation::special);
        return operands[0].is_number(1) || operands[1].is_number(1) ? void() : one(Operation::multiply);
      default:
        return call(e);
    }
  }

  void call(const Expression& e) {
    if (e.is_call(Function::max) || e.is_call(Function::min)) return one(Operation::compare);
    if (e.is_call(Function::abs)) return;
    if (e.is_call(Function::square)) return one(Operation::multiply);
    if (!e.is_call(Function::pow)) return one(Operation::special);
    int products = 0;
    for (int power = std::abs(static_cast<int>(e.operands()[1].value())); power > 1; power /= 2)
      products += 1 + power % 2;
    one(Operation::multiply, products);
    if (e.operands()[1].value() < 0) one(Operation::special);
  }

  std::array<int, 2> at_{};
  std::set<std::string> done_;
};

std::array<std::int64_t, operation_count> totals(const OperationCounter& counter) {
  std::array<std::int64_t, operation_count> all{};
  for (const OperationGroup& group : counter.groups()) {
    std::int64_t elements = 1;
    for (const AxisId axis : group.axes) elements *= extents[index(axis)];
    for (std::size_t i = 0; i < operation_count; ++i) all[i] += elements * group.counts[i];
  }
  return all;
}

OperationCounter counter_of(const Diagram& diagram) {
  OperationCounter counter(diagram);
  for (const char* name : {"a", "b", "c", "d"}) {
    std::vector<AxisId> axes;
    for (const char axis : axes_of_name.at(name)) axes.push_back(static_cast<AxisId>(axis == 'i' ? 0 : 1));
    counter.set_axes(name, axes);
  }
  return counter;
}

Expression random_pointwise(std::mt19937_64& random, int depth) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<std::uint64_t>(bound)); };
  const auto part = [&] { return random_pointwise(random, depth - 1); };
  const int choice = depth <= 0 ? below(4) : below(14);
  if (choice < 2) return Expression::array(std::string(1, static_cast<char>('a' + below(4))));
  if (choice == 2) return Expression::number(below(5) - 1);
  if (choice == 3) return Expression::index(below(2) == 0 ? "i" : "j");
  if (choice == 4) return -part();
  if (choice < 7) return part() + part();
  if (choice < 8) return part() - part();
  if (choice < 10) return part() * part();
  if (choice < 11) return part() / part();
  static constexpr std::array calls{Function::sqrt, Function::rsqrt, Function::tanh,   Function::abs,
                                    Function::max,  Function::min,   Function::square, Function::pow};
  const Function function = calls[static_cast<std::size_t>(below(calls.size()))];
  if (function == Function::pow) return Expression::pow(part(), below(9) - 3);
  if (argument_count(function) == 2) return Expression::call(function, {part(), part()});
  return Expression::call(function, {part()});
}

ProgramOperations of_island(const std::string& schedule, const std::string& diagram, const std::string& island) {
  const Schedule found = find_schedule(schedule, std::string(TILESCOPE_SOURCE_DIR) + "/models", diagram);
  return operations_of(found, expand(found.diagram), found.find_island(island));
}

std::string text_of(const ProgramOperations& operations, const Schedule& schedule) {
  std::string text;
  for (const OperationGroup& group : operations.groups) {
    text += group.when == Moment::step ? "step " : group.when == Moment::leaving ? "leaving " : "last ";
    for (const AxisId axis : group.axes) text += schedule.diagram.axes[index(axis)].name;
    for (std::size_t i = 0; i < operation_count; ++i)
      if (group.counts[i] > 0)
        text += " " + to_string(static_cast<Operation>(static_cast<int>(i))) + " " + std::to_string(group.counts[i]);
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("operations of random expressions are those of an execution that keeps what it has computed") {
  const Diagram diagram = plane();
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 1500; ++round) {
    const Expression value = random_pointwise(random, 4);
    CAPTURE(to_text(value));
    OperationCounter counter = counter_of(diagram);
    counter.count(Moment::step, value);
    Executed executed;
    executed.run(value);
    auto found = totals(counter), expected = executed.counts;
    // A multiply-add stands for a product and a sum.
    const auto at = [](auto& counts, Operation o) -> std::int64_t& { return counts[static_cast<std::size_t>(o)]; };
    at(found, Operation::add) += at(found, Operation::multiply_add);
    at(found, Operation::multiply) += at(found, Operation::multiply_add);
    at(found, Operation::multiply_add) = 0;
    for (const Operation o : {Operation::special, Operation::add, Operation::compare, Operation::position})
      CHECK(at(found, o) == at(expected, o));
    CHECK(at(found, Operation::multiply) >= at(expected, Operation::multiply));  // one fused twice is computed twice
  }
}

TEST_CASE("a product is part of a sum of its own axes, and factors of fewer axes are computed there") {
  const Diagram diagram = plane();
  const auto counted = [&](const std::string& text) {
    OperationCounter counter = counter_of(diagram);
    counter.count(Moment::step, expression_of(text));
    return totals(counter);
  };
  using Totals = std::array<std::int64_t, operation_count>;  // special, multiply-add, add, multiply, compare, position
  CHECK(counted("a*d + b") == Totals{0, 15, 0, 0, 0, 0});
  CHECK(counted("a + b*b") == Totals{0, 0, 15, 3, 0, 0});
  CHECK(counted("a / b") == Totals{3, 0, 0, 15, 0, 0});
  CHECK(counted("exp(a - b)") == Totals{15, 15, 0, 3, 0, 0});
  CHECK(counted("exp(0.5*a - b)") == Totals{15, 15, 0, 3, 0, 0});
  CHECK(counted("max(a, 0)") == Totals{0, 0, 0, 0, 15, 0});
  CHECK(counted("a + log(d)") == Totals{15, 15, 0, 0, 0, 0});
  CHECK(counted("tanh(a) * tanh(a)") == Totals{15, 0, 0, 15, 0, 0});
  CHECK(counted("pow(a, 5)") == Totals{0, 0, 0, 45, 0, 0});
}

TEST_CASE("flash2 executes what the machine code of fused_mma does: kernels/fused_mma/kernel.yaml") {
  const Schedule flash2 = find_schedule("flash2", std::string(TILESCOPE_SOURCE_DIR) + "/models");
  const ProgramOperations found = of_island("flash2", "", "forward");
  CHECK(text_of(found, flash2) ==
        "step bkrqx special 1 multiply_add 1 add 1 compare 1\n"
        "step bkrq special 1 add 1 multiply 3\n"
        "step bkrqe multiply 1\n"
        "leaving bkrq special 2 multiply_add 1\n"
        "leaving bkrqe multiply 1\n");
  CHECK(found.masked);
  int operands = 0;
  for (const ValueConversion& each : found.conversions) operands += each.kind == ValueConversion::Kind::operand;
  CHECK(operands == 1);  // P
}

TEST_CASE("scores without a softmax take no exponential") {
  const ProgramOperations spherical = of_island("flash2", "attention_spherical", "forward");
  for (const OperationGroup& group : spherical.groups)
    if (group.when == Moment::step) CHECK(group.counts[static_cast<std::size_t>(Operation::special)] == 0);
}

}  // namespace tilescope::operations_test
