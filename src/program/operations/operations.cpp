#include "program/operations/operations.h"

#include <algorithm>

#include "base/contains.h"
#include "program/construct/build.h"

namespace tilescope {
namespace {

bool holds_all(const std::vector<AxisId>& axes, const std::vector<AxisId>& some) {
  return std::all_of(some.begin(), some.end(), [&](AxisId axis) { return contains(axes, axis); });
}

class OperationsOfProgram {
 public:
  OperationsOfProgram(const Schedule& schedule, const Primitives& primitives, const TileProgram& program)
      : schedule_(schedule), primitives_(primitives), program_(program), counter_(primitives.diagram) {
    for (const ProgramTile& tile : program.tiles)
      counter_.set_axes(tile.name, tile.axes), counter_.set_axes(tile.name + "'", tile.axes);
  }

  ProgramOperations run() {
    walk(program_.body, 0);
    for (const ValueConversion& load : loads_)
      if (contains(pointwise_, tile_name(load.op))) add_once({load.kind, load.when, load.axes, load.array});
    out_.groups = counter_.groups();
    return std::move(out_);
  }

 private:
  const ProgramTile& tile(int number) const { return program_.tiles[static_cast<std::size_t>(number)]; }
  const std::string& tile_name(int number) const { return tile(number).name; }
  const Island& island() const { return schedule_.islands[static_cast<std::size_t>(program_.island)]; }

  void walk(const std::vector<Statement>& body, std::size_t loops) {
    for (const Statement& statement : body) {
      if (statement.kind == Statement::Kind::loop) {
        walk(statement.body, loops + 1);
        continue;
      }
      const Moment when = !statement.last_of.empty()       ? Moment::last
                          : loops == program_.loops.size() ? Moment::step
                                                           : Moment::leaving;
      add(statement, when);
    }
  }

  void add(const Statement& statement, Moment when) {
    const ProgramTile& of = tile(statement.tile);
    switch (statement.kind) {
      case Statement::Kind::load:
      case Statement::Kind::resume:  // `op` is the tile until it is known what uses it
        if (of.memory)
          loads_.push_back({.kind = ValueConversion::Kind::load,
                            .when = when,
                            .axes = of.axes,
                            .array = *of.memory,
                            .op = statement.tile});
        if (statement.kind == Statement::Kind::resume) pointwise_.push_back(of.name);
        return;
      case Statement::Kind::store:
      case Statement::Kind::add:
        return add_once({.kind = ValueConversion::Kind::store, .when = when, .axes = of.axes, .array = *of.memory});
      case Statement::Kind::compute:
      case Statement::Kind::fold:
      case Statement::Kind::finalise:
        made_.push_back(of.name), out_.masked = out_.masked || statement.masked;
        if (statement.fold) add_fold(statement, of, when);
        else add_value(when, statement.value);
        if (statement.repair) add_value(when, *statement.repair), counter_.add(when, of.axes, Operation::multiply);
        return;
      case Statement::Kind::loop:
      case Statement::Kind::start:
      case Statement::Kind::initialise:
        return;
    }
  }

  void add_value(Moment when, const Expression& value, bool fused = false) {
    for (const std::string& name : value.arrays()) pointwise_.push_back(name);
    counter_.count(when, value, fused);
  }

  // One operation for each value that is folded: a sum adds, or multiplies and adds; a product of matrices does
  // neither.
  void add_fold(const Statement& statement, const ProgramTile& of, Moment when) {
    if (add_matrix_product(statement, of, when)) return;
    std::vector<AxisId> axes = of.axes;
    for (const AxisId axis : statement.over)
      if (!contains(axes, axis)) axes.push_back(axis);
    std::sort(axes.begin(), axes.end());
    const bool fused = *statement.fold == FoldKind::sum && counter_.ends_in_product(statement.value) &&
                       counter_.axes_of(statement.value) == axes;
    add_value(when, statement.value, fused);
    const Operation each = *statement.fold == FoldKind::sum       ? (fused ? Operation::multiply_add : Operation::add)
                           : *statement.fold == FoldKind::product ? Operation::multiply
                                                                  : Operation::compare;
    counter_.add(when, axes, each);
  }

  // The contraction of this island that the tile has the results of, if it has those of one.
  const Primitive* contraction_of(const ProgramTile& of) const {
    std::string_view name = of.name;
    if (name.ends_with(tile_suffix)) name.remove_suffix(tile_suffix.size());
    for (const Primitive& made : primitives_.list)
      if (primitives_.array(made.output).name == name && contains(island().operators, made.op) &&
          schedule_.diagram.operators[static_cast<std::size_t>(made.op)].kind == OperatorKind::contraction)
        return &made;
    return nullptr;
  }

  static void factors_of(const Expression& value, std::vector<Expression>& factors) {
    if (value.kind() != Expression::Kind::multiply) return factors.push_back(value);
    for (const Expression& side : value.operands()) factors_of(side, factors);
  }

  // The factors of a sum of products by operand of the contraction: those that lack an axis of the other one.
  bool add_matrix_product(const Statement& statement, const ProgramTile& of, Moment when) {
    const Primitive* made = contraction_of(of);
    if (!made || made->inputs.size() != 2 || *statement.fold != FoldKind::sum) return false;
    std::vector<Expression> factors;
    factors_of(statement.value, factors);
    std::vector<Expression> operands;
    for (const ArrayId input : made->inputs) {
      std::optional<Expression> operand;
      for (auto factor = factors.begin(); factor != factors.end();) {
        if (!holds_all(primitives_.array(input).axes, counter_.axes_of(*factor))) {
          ++factor;
          continue;
        }
        operand = operand ? *operand * *factor : *factor, factor = factors.erase(factor);
      }
      if (operand) operands.push_back(*operand);
    }
    if (!factors.empty() || operands.size() != 2) return false;
    for (const Expression& operand : operands) add_operand(when, operand, made->op);
    return true;
  }

  // What threads make is rounded to the format of the product.
  void add_operand(Moment when, const Expression& operand, int op) {
    const bool loaded = operand.kind() == Expression::Kind::array && !contains(made_, operand.name());
    if (loaded) return;
    if (operand.kind() != Expression::Kind::array) add_value(when, operand);
    const std::string text = to_text(operand);
    if (contains(rounded_, text)) return;
    rounded_.push_back(text);
    out_.conversions.push_back(
        {.kind = ValueConversion::Kind::operand, .when = when, .axes = counter_.axes_of(operand), .op = op});
  }

  void add_once(ValueConversion conversion) { out_.conversions.push_back(std::move(conversion)); }

  const Schedule& schedule_;
  const Primitives& primitives_;
  const TileProgram& program_;
  OperationCounter counter_;
  std::vector<ValueConversion> loads_;  // op: the tile
  std::vector<std::string> pointwise_, made_, rounded_;
  ProgramOperations out_;
};

}  // namespace

ProgramOperations operations_of(const Schedule& schedule, const Primitives& primitives, int island) {
  const auto program = build_program(schedule, primitives, island);
  if (!std::holds_alternative<TileProgram>(program)) return {};
  return OperationsOfProgram(schedule, primitives, std::get<TileProgram>(program)).run();
}

}  // namespace tilescope
